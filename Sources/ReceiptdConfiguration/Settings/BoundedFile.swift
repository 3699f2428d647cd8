import Foundation

/// Reads a small file whole. Throws a `Fault` with the reason if this fails.
package enum BoundedFile {
    /// The reason why a file could not be read. The message contains nothing of the file's content.
    package struct Fault: Error, Sendable, Equatable {
        package let message: String
    }

    /// - Parameter limit: the most bytes. A larger file is a fault.
    package static func read(_ path: String, limit: Int) throws(Fault) -> [UInt8] {
        guard let file = fopen(path, "rb") else { throw systemFault() }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            bytes.append(contentsOf: chunk[..<count])
            guard bytes.count <= limit else { throw Fault(message: "is larger than \(limit) bytes") }
            if count < chunk.count {
                // `fopen` can open a directory. Only reading from it fails.
                guard ferror(file) == 0 else { throw systemFault() }
                return bytes
            }
        }
    }

    /// Returns the file as text. Throws a `Fault` for a file that is not UTF-8.
    static func readText(_ path: String, limit: Int) throws(Fault) -> String {
        guard let text = String(validating: try read(path, limit: limit), as: UTF8.self) else {
            throw Fault(message: "is not UTF-8 text")
        }
        return text
    }

    private static func systemFault() -> Fault {
        Fault(message: "cannot be read: \(String(cString: strerror(errno)))")
    }
}
