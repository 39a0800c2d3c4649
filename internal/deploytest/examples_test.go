//go:build external

package deploytest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/curtsy/curtsy/internal/testaid"
)

// The example with containers prints what its folder describes. All other examples are run by the
// tests of cmd/curtsy.
func TestExternalExampleCompose(t *testing.T) {
	t.Parallel()
	buildImage(t)
	want, err := os.ReadFile(filepath.Join(root, "examples", "compose", "expected.txt"))
	if err != nil {
		t.Fatal(err)
	}
	env := environ("IMAGE="+image, "NATS_IMAGE="+image, fmt.Sprintf("COMPOSE_PROJECT_NAME=curtsytest-%08x", rand.Uint32()),
		fmt.Sprint("NATS_PORT=", freePort(t)), "SUBNET="+freeSubnet(t))
	t.Cleanup(func() {
		const down = `docker-compose -f deploy/compose.yaml down -v --remove-orphans || docker compose -f deploy/compose.yaml down -v --remove-orphans`
		if _, err := tryEnv(env, "sh", "-c", down); err != nil {
			t.Errorf("not everything could be removed: %v", err)
		}
	})
	out, err := tryEnv(env, "sh", filepath.Join("examples", "compose", "run.sh"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := testaid.OutputDiff(string(want), string(out)); diff != "" {
		t.Error(diff)
	}
}
