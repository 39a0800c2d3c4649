package exported

type InTest struct{}
