package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The rules of tests (CONTRIBUTING.md). A test waits for an event and never for a time: on a busy
// machine any time is too short. In a bubble of virtual time (simnet.Test, synctest.Test) nothing
// depends on the machine, so there a test may wait as it likes. Elsewhere it waits with
// testaid.Until, which sleeps for it. Outside the external tests and those that run programs, a
// test listens on internal/simnet and not on a socket, which a bubble does not wait for.
const (
	waits   = "waits"   // it sleeps or sets a deadline on the real clock
	elapsed = "elapsed" // it compares how long something took
	sockets = "sockets" // it listens on a real socket
)

// exceptions are the packages in which tests break a rule: the kinds, and the reason. One that is
// no longer needed fails the test.
var exceptions = map[string]struct{ kinds, reason string }{
	"internal/deploytest": {waits + " " + elapsed + " " + sockets, "external tests: real programs, on real sockets; what they wait for, they wait for with testaid.Until"},
	"internal/e2e":        {sockets, "a program that is killed sends pages to a server of the test"},
	"internal/service":    {sockets, "that a port in use is passed over, and what is served on one, is what its tests are about"},
	"internal/site":       {sockets, "it watches files with inotify, which a bubble does not wait for; so its relay is on a real socket, too"},
	"pkg/queue":           {sockets, "TLS, which connections within a process do not have, and a cluster of real NATS servers"},
	"pkg/rup":             {sockets, "an example of its documentation"},

	"internal/document/worker": {waits + " " + sockets, "what it tests are processes; one sleeps, and one tries whether it may listen, in place of a document"},
	"internal/render/browser":  {waits + " " + sockets, "external tests: a real browser, whose answers are held back, and a socket that it must not reach"},
	"internal/simweb":          {sockets, "the server of its benchmark is a process of its own"},
}

func TestRulesOfTests(t *testing.T) {
	var dirs []string
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "bench" || d.Name() == "tools" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != "..") {
			return fs.SkipDir
		}
		if dir := filepath.Dir(name); strings.HasSuffix(name, "_test.go") && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		return nil
	})
	if err != nil || len(dirs) < 50 {
		t.Fatalf("%d folders with tests, %v", len(dirs), err)
	}
	for _, dir := range dirs {
		fset := token.NewFileSet()
		names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var files []*ast.File
		for _, name := range names {
			f, err := parser.ParseFile(fset, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		pkg, err := filepath.Rel("..", dir)
		if err != nil {
			t.Fatal(err)
		}
		pkg = filepath.ToSlash(pkg)
		needed := map[string]bool{}
		shown := 0
		for _, b := range breaches(fset, pkg, files) {
			needed[b.kind] = true
			if !slices.Contains(strings.Fields(exceptions[pkg].kinds), b.kind) {
				if shown++; shown <= 3 {
					t.Errorf("%s: %s (%s)", b.at, b.what, b.kind)
				}
			}
		}
		if shown > 3 {
			t.Errorf("%s: %d more", pkg, shown-3)
		}
		for _, kind := range strings.Fields(exceptions[pkg].kinds) {
			if !needed[kind] {
				t.Errorf("%s no longer needs the exception %q", pkg, kind)
			}
		}
	}
	for pkg, e := range exceptions {
		if !slices.Contains(dirs, filepath.Join("..", pkg)) || e.reason == "" {
			t.Errorf("the exception for %s has no such package with tests, or no reason", pkg)
		}
	}
}

// breach is where a test breaks a rule.
type breach struct {
	kind string
	at   token.Position
	what string
}

// breaches finds them in the test files of one folder. It follows calls by name: code that only a
// bubble reaches is in the bubble.
func breaches(fset *token.FileSet, pkg string, files []*ast.File) (found []breach) {
	r := &rules{fset: fset, imports: map[*ast.File]map[string]string{}, funcs: map[string][]*function{}, types: map[string]ast.Expr{}, makers: map[string]bool{"Test": pkg == "internal/simnet"}}
	for _, f := range files {
		r.add(f)
	}
	for grown := true; grown; {
		n := len(r.makers)
		for _, list := range r.funcs {
			for _, f := range list {
				r.findMaker(f)
			}
		}
		grown = len(r.makers) > n
	}
	r.reach()
	for _, list := range r.funcs {
		for _, f := range list {
			if f.outside {
				r.outside(f, func(n ast.Node) { found = append(found, r.waiting(f, n)...) })
			}
			if !strings.HasPrefix(pkg, "cmd/") { // tests of programs
				ast.Inspect(f.body, func(n ast.Node) bool { found = append(found, r.listening(f, n)...); return true })
			}
		}
	}
	slices.SortFunc(found, func(a, b breach) int {
		return strings.Compare(fmt.Sprintf("%s %06d", a.at.Filename, a.at.Offset), fmt.Sprintf("%s %06d", b.at.Filename, b.at.Offset))
	})
	return found
}

// rules is what is known of the test files of a folder.
type rules struct {
	fset    *token.FileSet
	imports map[*ast.File]map[string]string // by name in the file: the path
	funcs   map[string][]*function          // functions and methods by name; "": variables
	types   map[string]ast.Expr             // by name: what they are
	makers  map[string]bool                 // functions that run an argument in a bubble
}

// function is a function, a method, or the value of a variable of the package.
type function struct {
	file    *ast.File
	name    string
	of      string // the receiver's type
	params  []any  // each an Ident.Obj
	args    int    // how many; -1: as many as there are
	body    ast.Node
	outside bool      // it runs outside a bubble, too
	by      *function // that calls it there; nil: a test, or a variable
}

// calls is the chain of calls that reaches f outside a bubble.
func (f *function) calls() (chain string) {
	for ; f.by != nil; f = f.by {
		chain += " " + f.name + " called by"
	}
	return chain + " " + f.name
}

func (r *rules) add(f *ast.File) {
	names := map[string]string{}
	for _, imp := range f.Imports {
		p, _ := strconv.Unquote(imp.Path.Value)
		name := path.Base(p)
		if imp.Name != nil {
			name = imp.Name.Name
		}
		names[name] = p
	}
	r.imports[f] = names
	for _, d := range f.Decls {
		fd, is := d.(*ast.FuncDecl)
		if !is {
			gd, is := d.(*ast.GenDecl)
			if is && gd.Tok == token.VAR {
				r.funcs[""] = append(r.funcs[""], &function{file: f, body: d})
			}
			if is && gd.Tok == token.TYPE {
				for _, s := range gd.Specs {
					r.types[s.(*ast.TypeSpec).Name.Name] = s.(*ast.TypeSpec).Type
				}
			}
			continue
		}
		if fd.Body == nil {
			continue
		}
		fn := &function{file: f, name: fd.Name.Name, body: fd.Body}
		if fd.Recv != nil && len(fd.Recv.List) > 0 {
			ast.Inspect(fd.Recv.List[0].Type, func(n ast.Node) bool {
				if id, is := n.(*ast.Ident); is && fn.of == "" {
					fn.of = id.Name
				}
				return true
			})
		}
		for _, p := range fd.Type.Params.List {
			fn.args += max(1, len(p.Names))
			for _, id := range p.Names {
				fn.params = append(fn.params, id.Obj)
			}
		}
		if list := fd.Type.Params.List; len(list) > 0 {
			if _, variadic := list[len(list)-1].Type.(*ast.Ellipsis); variadic {
				fn.args = -1
			}
		}
		r.funcs[fn.name] = append(r.funcs[fn.name], fn)
	}
}

// is reports whether e is a name of an imported package.
func (r *rules) is(f *ast.File, e ast.Expr, pkg string, names ...string) bool {
	sel, is := e.(*ast.SelectorExpr)
	if !is || !slices.Contains(names, sel.Sel.Name) {
		return false
	}
	x, is := sel.X.(*ast.Ident)
	return is && x.Obj == nil && r.imports[f][x.Name] == pkg
}

// makes reports whether a call runs its last argument in a bubble.
func (r *rules) makes(f *ast.File, call *ast.CallExpr) bool {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return r.makers[fun.Name]
	case *ast.SelectorExpr:
		return r.is(f, fun, "testing/synctest", "Test") || r.is(f, fun, module+"internal/simnet", "Test") || r.makers["."+fun.Sel.Name]
	}
	return false
}

// findMaker adds f to the makers if it calls a parameter in a bubble, or gives it to a maker.
func (r *rules) findMaker(f *function) {
	is := func(e ast.Node) bool {
		id, is := e.(*ast.Ident)
		return is && id.Obj != nil && slices.Contains(f.params, any(id.Obj))
	}
	name := f.name
	if f.of != "" {
		name = "." + name
	}
	ast.Inspect(f.body, func(n ast.Node) bool {
		call, isCall := n.(*ast.CallExpr)
		if !isCall || !r.makes(f.file, call) {
			return true
		}
		for _, arg := range call.Args {
			if is(arg) && arg != call.Args[0] {
				r.makers[name] = true
			}
			if lit, isLit := arg.(*ast.FuncLit); isLit {
				ast.Inspect(lit, func(n ast.Node) bool {
					if c, isCall := n.(*ast.CallExpr); isCall && is(c.Fun) {
						r.makers[name] = true
					}
					return true
				})
			}
		}
		return true
	})
}

// outside visits what of f does not run in a bubble that f makes. A function that is the value of a
// local variable runs where the variable is mentioned. If f makes bubbles, those that stand in
// tables, or are returned, count as theirs: what becomes of them cannot be seen here.
func (r *rules) outside(f *function, visit func(ast.Node)) {
	bubbles := false
	local := map[any]*ast.FuncLit{} // by Ident.Obj
	ast.Inspect(f.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			bubbles = bubbles || r.makes(f.file, n)
		case *ast.AssignStmt:
			for i, e := range n.Rhs {
				lit, isLit := e.(*ast.FuncLit)
				if id, is := n.Lhs[min(i, len(n.Lhs)-1)].(*ast.Ident); isLit && is && id.Obj != nil && n.Tok == token.DEFINE {
					local[id.Obj] = lit
				}
			}
		}
		return true
	})
	values := map[ast.Node]bool{} // functions that stand in tables, or are returned
	done := map[ast.Node]bool{}
	var look func(n ast.Node) bool
	look = func(n ast.Node) bool {
		switch n := n.(type) {
		case nil:
			return false
		case *ast.CallExpr:
			if !r.makes(f.file, n) {
				break
			}
			visit(n.Fun)
			for _, arg := range n.Args {
				switch arg.(type) {
				case *ast.FuncLit, *ast.Ident, *ast.SelectorExpr:
				default:
					ast.Inspect(arg, look)
				}
			}
			return false
		case *ast.AssignStmt:
			for i, e := range n.Rhs {
				if id, is := n.Lhs[min(i, len(n.Lhs)-1)].(*ast.Ident); is && local[id.Obj] == e {
					done[id] = true // where it is set it does not run
				}
			}
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				if kv, is := e.(*ast.KeyValueExpr); is {
					e = kv.Value
				}
				values[e] = bubbles
			}
		case *ast.ReturnStmt:
			for _, e := range n.Results {
				values[e] = bubbles
			}
		case *ast.FuncLit:
			for _, lit := range local {
				if lit == n && !done[n] {
					return false
				}
			}
			if values[n] {
				return false
			}
		case *ast.Ident:
			if values[n] || done[n] {
				return false
			}
			if lit := local[n.Obj]; n.Obj != nil && lit != nil && !done[lit] {
				done[lit] = true
				ast.Inspect(lit, look)
			}
		}
		visit(n)
		return true
	}
	ast.Inspect(f.body, look)
}

// reach marks the functions that run outside a bubble: tests, and what they reach from there. A
// method is reached if its type is used there and so is its name; or its name nowhere here, since
// then others call it. Benchmarks measure real time, and are no tests.
func (r *rules) reach() {
	named := map[string]bool{} // in any code here
	for _, list := range r.funcs {
		for _, f := range list {
			ast.Inspect(f.body, func(n ast.Node) bool {
				if sel, is := n.(*ast.SelectorExpr); is {
					named[sel.Sel.Name] = true
				}
				return true
			})
		}
	}
	var todo []*function
	mark := func(f, by *function) {
		if !f.outside {
			f.outside, f.by = true, by
			todo = append(todo, f)
		}
	}
	for name, list := range r.funcs {
		for _, f := range list {
			if name == "" || name == "init" || f.of == "" && (strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz") || strings.HasPrefix(name, "Example")) {
				mark(f, nil)
			}
		}
	}
	// Outside: the names of methods, those that are called with the number of arguments; and types.
	selected, used := map[string]bool{}, map[string]bool{}
	called, field := map[ast.Node]bool{}, map[ast.Node]bool{}
	var use func(n ast.Node) bool
	use = func(n ast.Node) bool {
		if id, is := n.(*ast.Ident); is && r.types[id.Name] != nil && !used[id.Name] {
			used[id.Name] = true
			ast.Inspect(r.types[id.Name], use) // what is embedded
		}
		return true
	}
	for len(todo) > 0 {
		f := todo[0]
		todo = todo[1:]
		r.outside(f, func(n ast.Node) {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				field[n.Key] = true
			case *ast.FuncType: // its parameters are made elsewhere
				ast.Inspect(n, func(n ast.Node) bool { field[n] = true; return true })
			case *ast.Ident:
				if field[n] || n.Obj != nil && n.Obj.Kind == ast.Var {
					return
				}
				use(n)
				for _, g := range r.funcs[n.Name] {
					if g.of == "" && g.name != "" {
						mark(g, f)
					}
				}
			case *ast.CallExpr:
				if sel, is := n.Fun.(*ast.SelectorExpr); is {
					called[sel] = true
					selected[fmt.Sprint(sel.Sel.Name, len(n.Args))] = true
					selected[fmt.Sprint(sel.Sel.Name, -1)] = true
				}
			case *ast.SelectorExpr:
				field[n.Sel] = true
				if !called[n] {
					selected[n.Sel.Name] = true
				}
			}
		})
		for name, list := range r.funcs {
			for _, g := range list {
				if g.of != "" && (selected[name] || selected[fmt.Sprint(name, g.args)] || !named[name]) && (used[g.of] || r.types[g.of] == nil) {
					mark(g, f)
				}
			}
		}
	}
}

// waiting looks at one node that runs outside a bubble.
func (r *rules) waiting(f *function, n ast.Node) (found []breach) {
	add := func(kind, what string) {
		found = append(found, breach{kind, r.fset.Position(n.Pos()), what + " outside a bubble, in" + f.calls()})
	}
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if r.is(f.file, n, "time", "Sleep", "After", "Tick") {
			add(waits, "time."+n.Sel.Name)
		}
		if r.is(f.file, n, "context", "WithTimeout", "WithDeadline") {
			add(waits, "context."+n.Sel.Name)
		}
	case *ast.CallExpr:
		// A moment from now on is a deadline if the clock is held against it. Others are data.
		sel, is := n.Fun.(*ast.SelectorExpr)
		if is && r.is(f.file, sel, "time", "Until") {
			is = false
			add(waits, "time.Until")
		}
		if !is || !slices.Contains(deadlines, sel.Sel.Name) {
			break
		}
		for _, e := range append([]ast.Expr{sel.X}, n.Args...) {
			if r.later(f.file, e) {
				add(waits, "time.Now().Add as a deadline")
			}
		}
	case *ast.BinaryExpr:
		if slices.Contains([]token.Token{token.LSS, token.GTR, token.LEQ, token.GEQ}, n.Op) && (r.took(f.file, n.X) || r.took(f.file, n.Y)) {
			add(elapsed, "compares how long something took")
		}
	}
	return found
}

// deadlines are methods by which a moment becomes a deadline.
var deadlines = []string{"After", "Before", "Compare", "Sub", "SetDeadline", "SetReadDeadline", "SetWriteDeadline"}

// later reports whether e is time.Now().Add, or a variable that was set to that.
func (r *rules) later(f *ast.File, e ast.Expr) bool {
	if id, is := e.(*ast.Ident); is {
		e = assigned(id)
	}
	call, is := e.(*ast.CallExpr)
	if !is {
		return false
	}
	sel, is := call.Fun.(*ast.SelectorExpr)
	if !is || sel.Sel.Name != "Add" {
		return false
	}
	now, is := sel.X.(*ast.CallExpr)
	return is && r.is(f, now.Fun, "time", "Now")
}

// assigned is what the variable id is set to where it is declared, or nil.
func assigned(id *ast.Ident) ast.Expr {
	if id.Obj == nil {
		return nil
	}
	switch d := id.Obj.Decl.(type) {
	case *ast.AssignStmt:
		for i, e := range d.Lhs {
			if l, is := e.(*ast.Ident); is && l.Name == id.Name && len(d.Lhs) == len(d.Rhs) {
				return d.Rhs[i]
			}
		}
	case *ast.ValueSpec:
		for i, l := range d.Names {
			if l.Name == id.Name && len(d.Names) == len(d.Values) {
				return d.Values[i]
			}
		}
	}
	return nil
}

// took reports whether e is the time since a moment, or a variable that was set to one.
func (r *rules) took(f *ast.File, e ast.Expr) (is bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			is = is || r.is(f, n, "time", "Since")
		case *ast.Ident:
			call, isCall := assigned(n).(*ast.CallExpr)
			is = is || isCall && r.is(f, call.Fun, "time", "Since")
		}
		return true
	})
	return is
}

// listening looks at one node, in a bubble or not.
func (r *rules) listening(f *function, n ast.Node) (found []breach) {
	if sel, is := n.(*ast.SelectorExpr); is && (r.is(f.file, sel, "net", "Listen", "ListenTCP", "ListenPacket") ||
		r.is(f.file, sel, "crypto/tls", "Listen") || r.is(f.file, sel, "net/http/httptest", "NewServer", "NewTLSServer")) {
		found = append(found, breach{sockets, r.fset.Position(n.Pos()), sel.Sel.Name + " on a real socket"})
	}
	return found
}

// The test above must find what it looks for, and nothing else.
func TestRulesOfTestsCanFail(t *testing.T) {
	const imports = `package x_test
import ("testing"; "time"; "context"; "net"; "net/http/httptest"; "testing/synctest"; "github.com/curtsy/curtsy/internal/simnet")
`
	for _, c := range []struct{ source, want string }{
		{`func TestA(t *testing.T) { time.Sleep(1) }`, "waits"},
		{`func TestA(t *testing.T) { t.Run("", func(t *testing.T) { <-time.After(1) }) }`, "waits"},
		{`func TestA(t *testing.T) { simnet.Test(t, func(t *testing.T) { time.Sleep(1); if time.Since(x) > 1 {} }) }`, ""},
		{`func TestA(t *testing.T) { synctest.Test(t, a) }; func a(t *testing.T) { b() }; func b() { time.Sleep(1) }`, ""},
		{`func TestA(t *testing.T) { synctest.Test(t, a); b() }; func a(t *testing.T) { b() }; func b() { time.Sleep(1) }`, "waits"},
		{`func TestA(t *testing.T) { bubble(t, func() { time.Sleep(1) }) }; func bubble(t *testing.T, f func()) { simnet.Test(t, func(t *testing.T) { f() }) }`, ""},
		{`func TestA(t *testing.T) { new(rig).in(t, func() { time.Sleep(1) }) }; type rig int; func (rig) in(t *testing.T, f func(*testing.T)) { simnet.Test(t, f) }`, ""},
		{`func TestA(t *testing.T) { for _, f := range []func(*testing.T){a} { t.Run("", func(t *testing.T) { simnet.Test(t, f) }) } }; func a(*testing.T) { time.Sleep(1) }`, ""},
		{`func TestA(t *testing.T) { for _, f := range []func(*testing.T){a} { t.Run("", f) } }; func a(*testing.T) { time.Sleep(1) }`, "waits"},
		{`func TestA(t *testing.T) { var h handler; use(h) }; type handler int; func (handler) Serve() { time.Sleep(1) }`, "waits"},
		{`func TestA(t *testing.T) { simnet.Test(t, func(t *testing.T) { var h handler; use(h) }) }; type handler int; func (handler) Serve() { time.Sleep(1) }`, ""},
		{`func TestA(t *testing.T) { newRig().wait(); simnet.Test(t, func(t *testing.T) { new(fake).wait() }) }; type rig int; func newRig() *rig { return new(rig) }; type fake int; func (*fake) wait() { time.Sleep(1) }; func (*rig) wait() {}`, ""},
		{`func TestA(t *testing.T) { newRig().wait() }; type rig struct { inner }; type inner int; func newRig() *rig { return new(rig) }; func (*inner) wait() { time.Sleep(1) }`, "waits"},
		{`func TestA(t *testing.T) { a := func() { time.Sleep(1) }; simnet.Test(t, func(t *testing.T) { a() }) }`, ""},
		{`func TestA(t *testing.T) { a := func() { time.Sleep(1) }; b := func() { a() }; b() }`, "waits"},
		{`func TestA(t *testing.T) { for _, f := range []func(){func() { time.Sleep(1) }} { simnet.Test(t, func(t *testing.T) { f() }) } }`, ""},
		{`func TestA(t *testing.T) { for _, f := range []func(){func() { time.Sleep(1) }} { f() } }`, "waits"},
		{`func BenchmarkA(b *testing.B) { time.Sleep(1) }`, ""},
		{`var wait = func() { time.Sleep(1) }`, "waits"},
		{`func FuzzA(f *testing.F) { ctx, c := context.WithTimeout(ctx, 1) }`, "waits"},
		{`func TestA(t *testing.T) { for end := time.Now().Add(1); time.Now().Before(end); {} }`, "waits"},
		{`func TestA(t *testing.T) { var end = time.Now().Add(1); if time.Until(end) > 0 {} }`, "waits"},
		{`func TestA(t *testing.T) { c.SetDeadline(time.Now().Add(1)) }`, "waits"},
		{`func TestA(t *testing.T) { expired(time.Now().Add(1)) }`, ""},
		{`func TestA(t *testing.T) { began := time.Now(); took := time.Since(began); if took > 3 {} }`, "elapsed"},
		{`func TestA(t *testing.T) { took := a(); if took > 3 {} }`, ""},
		{`func TestA(t *testing.T) { net.Listen("tcp", "") }`, "sockets"},
		{`func TestA(t *testing.T) { simnet.Test(t, func(t *testing.T) { httptest.NewServer(nil) }) }`, "sockets"},
		{`func TestA(t *testing.T) { net := simnet.New(simnet.Options{}); net.Listen("tcp", "") }`, ""},
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "x_test.go", imports+c.source, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, b := range breaches(fset, "x", []*ast.File{f}) {
			got = b.kind
		}
		if got != c.want {
			t.Errorf("found %q, want %q in %s", got, c.want, c.source)
		}
	}
}
