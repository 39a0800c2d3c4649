package shapes

// A Shape is a form in which documents describe datasets in JSON. A document counts as one by what
// its first bytes show, not by its name.
//
// Places and properties are written as paths: "data.items" is the list of items in the object
// data. A path leads through lists. "a|b" is a or b, "a=x,y" is a if its value is x or y.
type Shape struct {
	Name string
	Kind Kind
	// at has the places where a document has its datasets: a list, or one of them. "" is the
	// document itself.
	at string
	// needs are properties that a dataset has in any case, and some are those of which it has at
	// least two.
	needs, some string
	// only are properties that, where they are there, say that it is a dataset and nothing else.
	only string
	not  string // properties that no dataset has
	// path is a part of the path of all such documents. named are parts of usual paths: then the
	// properties of some are not asked for.
	path, named string
	// dataset rewrites a dataset as one of DCAT or schema.org, or returns nil if it is none. If the
	// function is nil, package catalog reads the dataset as it is.
	dataset func(map[string]any) map[string]any
	// whole is the property of a dataset in a list with the address of its whole description, which
	// has more.
	whole   string
	example string // in testdata
}

// Kind says what a dataset of a shape is to package catalog.
type Kind int

const (
	API     Kind = iota // of the API of a portal or repository
	CKAN                // of CKAN's API
	Listed              // a member of a list of DCAT-US or Project Open Data, which needs no type
	Package             // a Frictionless data package
	Linkset             // a context of a set of links, which may be about something else
)

// enough is how many of a shape's other properties a dataset must have.
const enough = 2

// tried is how many members of a list are compared with a shape.
const tried = 50

var table = []Shape{
	{
		Name: "Frictionless", Kind: Package, at: "", needs: "resources.path|resources.data|resources.url", not: "@context license_id num_resources owner_org metadata_created",
		some: `profile licenses contributors sources $schema keywords resources.schema.fields resources.mediatype resources.bytes resources.hash resources.encoding
			resources.dialect resources.profile resources.scheme resources.format`,
		named:   "datapackage.json",
		example: "frictionless.json",
	},
	{
		Name: "CKAN, DKAN 1", Kind: CKAN, at: "result.results result ", needs: "name", not: "@context",
		some:  "resources.url num_resources license_id license_title owner_org isopen notes num_tags creator_user_id metadata_created",
		named: "/package_show /package_search /current_package_list_with_resources", dataset: ckan,
		example: "ckan.json",
	},
	{
		Name: "Dataverse", at: "data ", needs: "latestVersion|datasetVersion|datasetPersistentId",
		some: `protocol authority persistentUrl publisher storageIdentifier versionState metadataBlocks.citation files.dataFile latestVersion.versionState
			latestVersion.datasetPersistentId datasetVersion.versionState`, dataset: dataverse,
		example: "dataverse.json",
	},
	{
		Name: "Dataverse, a search", at: "data.items", needs: "type name", only: "type=dataset",
		some: "name_of_dataverse identifier_of_dataverse citationHtml global_id versionState storageIdentifier", dataset: dataverseHit,
		example: "dataverse-search.json",
	},
	{
		Name: "Socrata, its catalogue", at: "results", needs: "resource.id", only: "resource.type=dataset,file,href,federated_href",
		some:  "classification.domain_category classification.categories classification.tags permalink link metadata.domain resource.parent_fxf resource.columns_name resource.data_updated_at",
		named: "/api/catalog/v1", dataset: socrata,
		example: "socrata.json",
	},
	{
		Name: "Socrata, its views", at: "", needs: "id name viewType|displayType|assetType", only: "assetType=dataset,file,href,federated_href viewType=tabular,blobby,href,geo",
		some:  "averageRating viewCount downloadCount publicationDate rowsUpdatedAt viewLastModified newBackend publicationStage tableId licenseId",
		named: "/api/views", dataset: socrataView,
		example: "socrata-views.json",
	},
	{
		Name: "ArcGIS Hub, a search", at: "features", needs: "properties.title|properties.name",
		some: "properties.snippet properties.licenseInfo properties.typeKeywords properties.orgId properties.culture properties.numViews properties.accessInformation", dataset: arcgis,
		example: "arcgis.json",
	},
	{
		Name: "ArcGIS Hub, its datasets", at: "data", needs: "type=dataset attributes.name|attributes.title|attributes.searchDescription",
		some: "attributes.owner attributes.snippet attributes.licenseInfo attributes.orgId attributes.recordCount attributes.structuredLicense attributes.slug", dataset: arcgisItem,
		example: "arcgis-v3.json",
	},
	{
		Name: "Zenodo, InvenioRDM", at: "hits.hits ", needs: "metadata|links.self|files.entries", only: "metadata.resource_type.type=dataset metadata.resource_type.id=dataset",
		some: `conceptrecid conceptdoi doi_url recid links.latest_html links.self_html links.bucket files.checksum metadata.access_right metadata.publication_date
			metadata.resource_type links.self_iiif_manifest links.archive links.media_files links.access_links pids.doi pids.oai parent.id versions.is_latest files.entries
			access.record`,
		named: "/api/records", dataset: record,
		example: "zenodo.json",
	},
	{
		Name: "Figshare", at: "", needs: "url_public_html|url_public_api|files.download_url", only: "defined_type_name=dataset,fileset",
		some:  "defined_type_name url_private_html figshare_url resource_doi is_embargoed files.computed_md5 files.supplied_md5 files.is_link_only published_date group_id",
		named: "/v2/articles", dataset: figshare, whole: "url_public_api",
		example: "figshare.json",
	},
	{
		Name: "Hugging Face", at: "", path: "/api/datasets", needs: "id", not: "modelId sdk @context",
		some: "_id author lastModified downloads likes cardData gated siblings.rfilename sha private", dataset: huggingFace,
		example: "huggingface.json",
	},
	{
		Name: "DataCite", at: "data ", needs: "type=dois|attributes.doi|doi creators|titles|attributes.creators|attributes.titles",
		only: "attributes.types.resourceTypeGeneral=Dataset types.resourceTypeGeneral=Dataset",
		some: `attributes.prefix attributes.identifiers attributes.publicationYear attributes.types attributes.titles schemaVersion types.resourceTypeGeneral publicationYear
			rightsList titles.title`, dataset: datacite,
		example: "datacite.json",
	},
	{
		Name: "OpenAIRE", at: "results ", needs: "mainTitle", only: "type=dataset",
		some: "pids.scheme instances bestAccessRight originalIds publicationDate openAccessColor", dataset: openaire,
		example: "openaire.json",
	},
	{
		Name: "sets of links", Kind: Linkset, at: "linkset", needs: "anchor", some: "type.href item.href cite-as.href describedby.href license.href author.href",
		example: "linkset.json",
	},
	{
		Name: "Project Open Data, DCAT-US", Kind: Listed, at: "dataset datasets ", needs: "title|name accessLevel|distribution.downloadURL|distribution.accessURL|distribution.contentUrl|distribution.data.downloadURL", not: "@id @graph @context",
		some:  "description identifier keyword modified publisher license accessURL downloadURL contactPoint issued theme spatial landingPage bureauCode",
		named: "/api/feed/dcat-us /metastore/schemas/dataset/items", dataset: dkan,
		example: "datagov.json",
	},
}
