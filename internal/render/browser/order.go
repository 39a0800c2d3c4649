package browser

// guardEnv is the environment variable with the order to a guard, as JSON.
const guardEnv = "RUNS_A_BROWSER_FOR_CURTSY"

// order is what a guard has to do.
type order struct {
	Program string   `json:"program"` // "": it only reports what it could limit
	Args    []string `json:"args"`
	Env     []string `json:"env"`
	Dir     string   `json:"dir"` // for the files of the browser
	Memory  int64    `json:"memory"`
	Spaces  bool     `json:"spaces"`  // the guard is in namespaces of its own
	Sandbox bool     `json:"sandbox"` // Chromium's own is wanted
	// SameUser has the browser run as the user of the guard, even if that is root.
	SameUser bool `json:"same_user"`
}

// state is what a guard reports before it starts the browser.
type state struct {
	Network   bool   `json:"network"`   // it has a namespace of the network, which is empty
	Filter    bool   `json:"filter"`    // system calls for the network are refused
	Processes bool   `json:"processes"` // it has a namespace of processes
	Sandbox   bool   `json:"sandbox"`   // Chromium's own is on
	User      int    `json:"user"`      // as which the browser runs
	Missing   string `json:"missing"`   // what could not be limited
	Err       string `json:"err,omitempty"`
}

// The files of a guard: the two pipes of the browser have the numbers that Chromium expects.
const (
	toBrowser   = 3
	fromBrowser = 4
	guardStatus = 5
)
