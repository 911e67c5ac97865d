package main

import (
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// The login that HEADRACE_TEST_SASL names as MECHANISM:USER:PASSWORD (or a token); none without it.
func login() []kgo.Opt {
	parts := strings.SplitN(os.Getenv("HEADRACE_TEST_SASL"), ":", 3)
	switch parts[0] {
	case "PLAIN":
		return []kgo.Opt{kgo.SASL(plain.Auth{User: parts[1], Pass: parts[2]}.AsMechanism())}
	case "OAUTHBEARER":
		return []kgo.Opt{kgo.SASL(oauth.Auth{Zid: parts[1], Token: parts[2]}.AsMechanism())}
	case "SCRAM-SHA-256":
		return []kgo.Opt{kgo.SASL(scram.Auth{User: parts[1], Pass: parts[2]}.AsSha256Mechanism())}
	case "SCRAM-SHA-512":
		return []kgo.Opt{kgo.SASL(scram.Auth{User: parts[1], Pass: parts[2]}.AsSha512Mechanism())}
	}
	return nil
}
