package shapes

import "maps"

// dkan returns a dataset of DCAT-US as it is, except that DKAN 2 may write what a dataset refers to
// as an object with an identifier and the data.
func dkan(m map[string]any) map[string]any {
	d := maps.Clone(m)
	for name, v := range d {
		d[name] = referred(v)
	}
	return d
}

// referred returns the data of what is referred to, also in a list.
func referred(v any) any {
	if all, is := v.([]any); is {
		out := make([]any, len(all))
		for i := range all {
			out[i] = referred(all[i])
		}
		return out
	}
	if m := object(v); len(m) == 2 && m["identifier"] != nil && m["data"] != nil {
		return m["data"]
	}
	return v
}
