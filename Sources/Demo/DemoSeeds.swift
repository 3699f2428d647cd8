import EmbeddedPostgres
import Foundation

/// The place of the demo's sample cases.
package enum DemoSeeds: Sendable {
    /// The cases in this program, which the build copied from `seeds`.
    case builtIn
    /// A folder with the structure of `seeds`.
    case folder(String)

    /// The folder has no sample cases.
    package struct Missing: Error {
        package let folder: String
    }

    /// Calls `body` with the folder. For `builtIn`, writes the cases into a temporary folder while `body` runs.
    func withFolder<Value>(_ body: (URL) async throws -> Value) async throws -> Value {
        if case .folder(let path) = self { return try await body(URL(fileURLWithPath: path)) }
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("receiptd-seeds-\(UUID().uuidString)")
        ExitCleanup.set(.init(directory: folder.path), for: folder.path)
        defer {
            try? FileManager.default.removeItem(at: folder)
            ExitCleanup.set(nil, for: folder.path)
        }
        try Self.unpack(SeedArchive.text, to: folder)
        return try await body(folder)
    }

    /// Returns the files of the archive by path. For each file, the archive has a line with its path and size, then the
    /// content and a line break.
    static func files(in archive: String) -> [(path: String, content: Data)] {
        var files: [(path: String, content: Data)] = []
        var rest = archive.utf8[...]
        while let lineEnd = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let words = rest[..<lineEnd].split(separator: UInt8(ascii: " "))
            let start = rest.index(after: lineEnd)
            guard words.count == 2, let count = Int(String(decoding: words[1], as: UTF8.self)),
                let end = rest.index(start, offsetBy: count, limitedBy: rest.endIndex)
            else { break }
            files.append((String(decoding: words[0], as: UTF8.self), Data(rest[start..<end])))
            rest = rest[end...].dropFirst()
        }
        return files
    }

    private static func unpack(_ archive: String, to folder: URL) throws {
        for file in files(in: archive) {
            let target = folder.appendingPathComponent(file.path)
            try FileManager.default.createDirectory(
                at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
            try file.content.write(to: target)
        }
    }
}
