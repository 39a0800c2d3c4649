// Package elastic is the sink of the feed for Elasticsearch and OpenSearch.
//
// Open takes the address of a server and the name of an index:
//
//	elasticsearch://search.example.org:9200/pages       HTTPS
//	opensearch+http://127.0.0.1:9200/pages?part=20MiB   HTTP, larger requests
//
// Pages are stored and deleted with _bulk. The _id of a document is the ID of its page, and its
// version that of the change, with the version type external_gte. So the server keeps what it has
// if it is newer, and a batch that is sent again changes nothing. A server forgets the version of a
// deleted document after a minute (index.gc_deletes). A batch of before the deletion that arrives
// later than that stores the page again. It is deleted once more when the feed has sent the rest,
// since it sends the batches of a shard in their order, and again from the first that was not
// acknowledged.
//
// Prepare makes an index NAME-000001 behind the alias NAME, and an index template for the indices
// that follow it, unless there is an index or an alias NAME already.
package elastic
