import Fulfillment

/// Turns the text of a catalog file into a `Catalog`, or throws every fault of the file. An import stores the unchanged
/// text. Parsing the stored text gives an equal catalog.
package enum CatalogFile {
    /// - Parameter version: the number of the import, which is the catalog's version.
    package static func parse(_ text: String, version: Int64) throws(CatalogFaults) -> Catalog {
        let start = TextPosition(line: 1, column: 1)
        guard text.utf8.count <= CatalogLimits.fileSize else {
            let message = "the file is larger than \(CatalogLimits.fileSize) bytes"
            throw CatalogFaults(faults: [CatalogFault(start, message)])
        }
        let document = YAMLDocument(text)
        var reader = CatalogReader(document.faults.map { CatalogFault($0.position, $0.message) })
        var apps: [AppPolicy] = []
        if let root = document.root {
            apps = reader.catalog(root)
        } else if document.faults.isEmpty {
            reader.fail(start, "the file is empty: it must hold `apps`")
        }
        guard reader.faults.isEmpty else {
            let ordered = reader.faults.enumerated().sorted {
                ($0.element.position, $0.offset) < ($1.element.position, $1.offset)
            }
            throw CatalogFaults(faults: ordered.map(\.element))
        }
        return Catalog(version: version, apps: apps)
    }

    /// Returns the text of the file, which the import parses and stores.
    package static func load(_ path: String) throws(CatalogFaults) -> String {
        do throws(BoundedFile.Fault) {
            return try BoundedFile.readText(path, limit: CatalogLimits.fileSize)
        } catch {
            throw CatalogFaults(faults: [CatalogFault(TextPosition(line: 1, column: 1), "the file \(error.message)")])
        }
    }
}
