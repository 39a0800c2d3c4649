package s3test_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/feed/parts/s3test"
)

// A request without the right key, with another MD5 than that of the body, or for another bucket is
// refused.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ path, key, md5, want string }{
		"digest": {"/b/key", "K", "AAAAAAAAAAAAAAAAAAAAAA==", "BadDigest"},
		"bucket": {"/c/key", "K", "", "NoSuchBucket"},
		"method": {"/b/", "K", "", "NotImplemented"},
		"key":    {"/b/key", "L", "", "InvalidAccessKeyId"},
		"stored": {"/b/key", "K", "ndTkYSaMgDT1yFZOFVxnpg==", ""}, // of "x"
	} {
		server := s3test.New(s3test.Config{Bucket: "b", AccessKey: "K"})
		r := httptest.NewRequest(http.MethodPut, c.path, strings.NewReader("x"))
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+c.key+"/20260301/us-east-1/s3/aws4_request")
		r.Header.Set("Content-Md5", c.md5)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		if c.want == "" && (w.Code != http.StatusOK || len(server.Objects()) != 1) || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}
