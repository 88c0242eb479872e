// The peer of raft_write_bench: one server of a cluster on hashicorp/raft with its usual log store, raft-boltdb. It
// keeps a map of names to texts in memory and takes writes over gRPC, as bytes that nobody decodes twice.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"google.golang.org/grpc"
)

// The state: the newest write of each name.
type state struct{ texts map[string][]byte }

// The bytes of field 1 of a serialized message.
func nameOf(message []byte) string {
	if len(message) < 2 || message[0] != 1<<3|2 {
		return ""
	}
	size, used := binary.Uvarint(message[1:])
	if used <= 0 || uint64(len(message)-1-used) < size {
		return ""
	}
	return string(message[1+used : 1+used+int(size)])
}

func (s *state) Apply(entry *raft.Log) interface{} {
	s.texts[nameOf(entry.Data)] = entry.Data
	return nil
}

type noSnapshot struct{}

func (noSnapshot) Persist(raft.SnapshotSink) error   { return errors.New("no snapshots are taken here") }
func (noSnapshot) Release()                          {}
func (s *state) Snapshot() (raft.FSMSnapshot, error) { return noSnapshot{}, nil }
func (s *state) Restore(from io.ReadCloser) error    { return errors.New("no snapshots are taken here") }

// Messages are bytes.
type plain struct{}

func (plain) Name() string                                { return "plain" }
func (plain) Marshal(message interface{}) ([]byte, error) { return *message.(*[]byte), nil }
func (plain) Unmarshal(bytes []byte, into interface{}) error {
	*into.(*[]byte) = append([]byte(nil), bytes...)
	return nil
}

type server struct {
	raft    *raft.Raft
	clients map[raft.ServerAddress]string // of each member, where it takes calls
}

func (s *server) put(request []byte) ([]byte, error) {
	return nil, s.raft.Apply(request, 10*time.Second).Error()
}

// The leader's address as field 1.
func (s *server) leader([]byte) ([]byte, error) {
	address, _ := s.raft.LeaderWithID()
	if address == "" {
		return nil, errors.New("no leader")
	}
	client := s.clients[address]
	return append([]byte{1<<3 | 2, byte(len(client))}, client...), nil
}

func handler(function func(*server, []byte) ([]byte, error)) func(interface{}, context.Context, func(interface{}) error, grpc.UnaryServerInterceptor) (interface{}, error) {
	return func(self interface{}, _ context.Context, decode func(interface{}) error, _ grpc.UnaryServerInterceptor) (interface{}, error) {
		var request []byte
		if err := decode(&request); err != nil {
			return nil, err
		}
		answer, err := function(self.(*server), request)
		return &answer, err
	}
}

func check(err error) {
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

func main() {
	folder := flag.String("folder", "", "where the log lies")
	members := flag.String("members", "", "RAFT=CLIENT,… addresses of all")
	self := flag.Int("self", 0, "which of them this is")
	flag.Parse()
	check(os.MkdirAll(*folder, 0700))

	clients := map[raft.ServerAddress]string{}
	var voters []raft.Server
	var own raft.Server
	for i, member := range strings.Split(*members, ",") {
		pair := strings.SplitN(member, "=", 2)
		voter := raft.Server{ID: raft.ServerID(strconv.Itoa(i)), Address: raft.ServerAddress(pair[0])}
		clients[voter.Address] = pair[1]
		voters = append(voters, voter)
		if i == *self {
			own = voter
		}
	}
	config := raft.DefaultConfig()
	config.LocalID = own.ID
	config.SnapshotThreshold = 1 << 40
	config.Logger = hclog.New(&hclog.LoggerOptions{Name: "raft", Level: hclog.Warn})
	store, err := raftboltdb.NewBoltStore(filepath.Join(*folder, "raft.db"))
	check(err)
	cache, err := raft.NewLogCache(512, store)
	check(err)
	transport, err := raft.NewTCPTransport(string(own.Address), nil, 3, 10*time.Second, os.Stderr)
	check(err)
	snapshots := raft.NewInmemSnapshotStore()
	known, err := raft.HasExistingState(cache, store, snapshots)
	check(err)
	node, err := raft.NewRaft(config, &state{texts: map[string][]byte{}}, cache, store, snapshots, transport)
	check(err)
	if !known {
		check(node.BootstrapCluster(raft.Configuration{Servers: voters}).Error())
	}

	listener, err := net.Listen("tcp", clients[own.Address])
	check(err)
	calls := grpc.NewServer(grpc.ForceServerCodec(plain{}))
	calls.RegisterService(&grpc.ServiceDesc{
		ServiceName: "raftpeer.Store",
		HandlerType: (*interface{})(nil),
		Methods: []grpc.MethodDesc{
			{MethodName: "Put", Handler: handler((*server).put)},
			{MethodName: "Leader", Handler: handler((*server).leader)},
		},
	}, &server{raft: node, clients: clients})
	check(calls.Serve(listener))
}
