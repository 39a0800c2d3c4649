package browser

import "encoding/json"

// The parts of the Chrome DevTools Protocol that are used here. They are written by hand and read
// by encoding/json, because pages put strings into messages that are no valid UTF-16: the decoder
// of the generated types (cdproto) refuses those.

// pausedRequest is the event Fetch.requestPaused.
type pausedRequest struct {
	ID      string `json:"requestId"`
	Request struct {
		URL     string            `json:"url"`
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
	} `json:"request"`
	Frame string `json:"frameId"`
	Type  string `json:"resourceType"`
}

// headerField is a field of the header of an answer.
type headerField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// fulfill are the parameters of Fetch.fulfillRequest.
type fulfill struct {
	ID     string        `json:"requestId"`
	Code   int           `json:"responseCode"`
	Header []headerField `json:"responseHeaders,omitempty"`
	Body   []byte        `json:"body,omitempty"`
}

// refusal are the parameters of Fetch.failRequest.
type refusal struct {
	ID     string `json:"requestId"`
	Reason string `json:"errorReason"`
}

// The reasons of refusals. A page stays when its navigation was aborted; otherwise a page with an
// error message would take its place.
const (
	blocked  = "BlockedByClient"
	aborted  = "Aborted"
	noAnswer = "ConnectionFailed"
)

// snapshot is what DOMSnapshot.captureSnapshot returns. Numbers for strings are indexes of Strings;
// -1 stands for none.
type snapshot struct {
	Documents []documentSnapshot `json:"documents"`
	Strings   []string           `json:"strings"`
}

type documentSnapshot struct {
	URL      int       `json:"documentURL"`
	Base     int       `json:"baseURL"`
	PublicID int       `json:"publicId"`
	SystemID int       `json:"systemId"`
	Nodes    nodeTable `json:"nodes"`
}

// nodeTable has a row for each node, in the order of the document, parents first.
type nodeTable struct {
	Parent     []int      `json:"parentIndex"`
	Type       []int      `json:"nodeType"`
	Name       []int      `json:"nodeName"`
	Value      []int      `json:"nodeValue"`
	Attributes [][]int    `json:"attributes"`
	Shadow     rareString `json:"shadowRootType"`
	Pseudo     rareString `json:"pseudoType"`
}

// rareString has a string for some rows.
type rareString struct {
	Index []int `json:"index"`
	Value []int `json:"value"`
}

type object = map[string]any

func decode(params json.RawMessage, into any) bool { return json.Unmarshal(params, into) == nil }
