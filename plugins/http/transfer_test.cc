// Bodies that are handed on as they come, in both directions.
#include "testing/server_fixture.h"

namespace drover::api {
namespace {

std::string numbers(size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; ++i) text += std::to_string(i) + ' ';
  return text.substr(0, size);
}

TEST_F(HttpServer, AnUploadComesInPiecesAndHasNoLimit) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  Client client(start(std::move(options)));
  const std::string body = numbers(1'000'000);
  client.send("PUT /v1/test/large HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n");
  client.send(body.substr(0, 600'000));
  EXPECT_EQ(caller_.uploaded(1).substr(0, 1), "0");  // before the rest was sent
  client.send(body.substr(600'000));
  ASSERT_TRUE(caller_.has_all());
  caller_.end_stream(ok_status());

  const Received answer = client.receive();

  EXPECT_EQ(answer.status(), 200) << answer.head;
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(caller_.uploaded(body.size()), body);
  EXPECT_EQ(client.get("/v1/test/thing/one").status(), 200) << "the connection stays";
}

TEST_F(HttpServer, AnUploadMayBeChunkedAndAnnounced) {
  Client client(start());
  client.send(
      "POST /v1/test/large HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(client.receive_head(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("3\r\none\r\n4\r\n two\r\n0\r\n\r\n");
  ASSERT_TRUE(caller_.has_all());
  caller_.end_stream(failed_precondition("not now"));

  const Received answer = client.receive();

  EXPECT_EQ(answer.status(), 500);
  EXPECT_EQ(answer.body, "not now");
  EXPECT_EQ(caller_.uploaded(7), "one two");
}

TEST_F(HttpServer, AnUploadThatIsRefusedHalfWayIsAnsweredAtOnce) {
  Client client(start());
  client.send("PUT /v1/test/large HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n");
  client.send(numbers(300'000));
  caller_.uploaded(1);
  caller_.end_stream(invalid_argument("it is not what it should be"));

  const Received answer = client.receive();

  EXPECT_EQ(answer.status(), 400) << answer.head;
  EXPECT_EQ(answer.body, "it is not what it should be");
}

TEST_F(HttpServer, AnUploadWhoseSenderHangsUpIsCancelled) {
  Client client(start());
  client.send("PUT /v1/test/large HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n" + numbers(300'000));
  caller_.uploaded(1);
  client.hang_up();

  EXPECT_TRUE(caller_.is_cancelled());
  EXPECT_LT(caller_.uploaded(0).size(), 1'000'000u);
}

TEST_F(HttpServer, ADownloadIsItsBytesWithTheirDigest) {
  Client client(start());
  client.send("GET /v1/test/large HTTP/1.1\r\nHost: test\r\n\r\n");
  StreamReceiver* stream = caller_.stream();
  ASSERT_NE(stream, nullptr);
  thing::Piece piece;
  piece.set_data(std::string("\0\xff", 2));
  piece.set_digest("sha-256=abc");
  stream->message(piece.SerializeAsString());
  piece.clear_digest();
  stream->message(piece.SerializeAsString());
  caller_.end_stream(ok_status());

  const Received answer = client.receive();

  EXPECT_EQ(answer.status(), 200);
  EXPECT_TRUE(answer.has("Digest: sha-256=abc")) << answer.head;
  EXPECT_TRUE(answer.has("Content-Type: application/octet-stream")) << answer.head;
  EXPECT_EQ(answer.body, std::string("\0\xff\0\xff", 4));
}

TEST_F(HttpServer, ADownloadSaysOfWhatTypeItIs) {
  Client client(start());
  client.send("GET /v1/test/large HTTP/1.1\r\nHost: test\r\n\r\n");
  StreamReceiver* stream = caller_.stream();
  ASSERT_NE(stream, nullptr);
  thing::Piece piece;
  piece.set_content_type("image/png\r\nX-Other: header");
  stream->message(piece.SerializeAsString());  // without a byte of it
  caller_.end_stream(ok_status());

  const Received answer = client.receive();

  EXPECT_EQ(answer.status(), 200);
  EXPECT_TRUE(answer.has("Content-Type: image/png  X-Other: header")) << answer.head;
  EXPECT_TRUE(answer.has("X-Content-Type-Options: nosniff")) << answer.head;
  EXPECT_EQ(answer.body, "");
}

TEST_F(HttpServer, ADownloadThatBreaksOffIsNotEndedAsIfItWereWhole) {
  Client client(start());
  client.send("GET /v1/test/large HTTP/1.1\r\nHost: test\r\n\r\n");
  StreamReceiver* stream = caller_.stream();
  ASSERT_NE(stream, nullptr);
  thing::Piece piece;
  piece.set_data("half");
  stream->message(piece.SerializeAsString());
  EXPECT_TRUE(client.receive_head().starts_with("HTTP/1.1 200 "));
  caller_.end_stream(unavailable("the disk is gone"));

  EXPECT_EQ(client.receive_all(), "4\r\nhalf\r\n");
}

}  // namespace
}  // namespace drover::api
