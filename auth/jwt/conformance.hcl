# The conformance kit logs in with this. The key was made for this file and thrown away; its tokens end in 2100.

login "good" {
  token   = "eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJodHRwczovL2NpLmV4YW1wbGUiLCJzdWIiOiJidWlsZCIsImF1ZCI6ImRyb3ZlciIsImlhdCI6MTcwMDAwMDAwMCwiZXhwIjo0MTAyNDQ0ODAwLCJyZXBvc2l0b3J5Ijoid2ViIiwidGVhbXMiOlsiZW5naW5lZXJzIl19.aWSjKMH7MENCImYEVUG6KSwADDBgj55snhRWeh8EwTgiEYwHUQi4jpD2EQFQJTjIY8tA5768etjq3DDyQw1DAQ"
  subject = "build"
  config {
    JWTValidationPubKeys = ["-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAd1sKPxagxqiNS0DDzM4OUzMf2S2qStaOWbIeCMvcH3M=\n-----END PUBLIC KEY-----\n"]
    SigningAlgs          = ["EdDSA"]
    BoundAudiences       = ["drover"]
    BoundIssuer          = ["https://ci.example"]
    ClaimMappings        = { repository = "repository" }
    ListClaimMappings    = { teams = "teams" }
  }
}

login "refused" {
  token = "eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJodHRwczovL2NpLmV4YW1wbGUiLCJzdWIiOiJidWlsZCIsImF1ZCI6ImRyb3ZlciIsImlhdCI6MTcwMDAwMDAwMCwiZXhwIjo0MTAyNDQ0ODAwfQ.Xq2JaJwlWxe0fch_Oifz0jrdFJayMSW_4AK4Z1qwOPgQqW_svgsl15lsIEQi1BRyAM0M_DEZ92eoXmm5Q1N0CA"
  config {
    JWTValidationPubKeys = ["-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAd1sKPxagxqiNS0DDzM4OUzMf2S2qStaOWbIeCMvcH3M=\n-----END PUBLIC KEY-----\n"]
    SigningAlgs          = ["EdDSA"]
  }
}

login "invalid" {
  path = "SigningAlgs[0]"
  config {
    JWTValidationPubKeys = ["-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAd1sKPxagxqiNS0DDzM4OUzMf2S2qStaOWbIeCMvcH3M=\n-----END PUBLIC KEY-----\n"]
    SigningAlgs          = ["none"]
  }
}
