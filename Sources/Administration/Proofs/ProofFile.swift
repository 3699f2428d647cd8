import Foundation
import ReceiptdConfiguration

/// Reads the file that an operator gives to `receiptd proof`.
package enum ProofFile {
    /// The most bytes of the file: the base64 of a receipt of 1 MiB, with JSON around it.
    package static let maximumSize = 4 * 1024 * 1024

    /// Reads the whole file.
    /// - Parameter path: the file; "-" for standard input.
    /// - Throws: `CommandFailure` if the file cannot be read, or is larger than `maximumSize`.
    package static func read(_ path: String) throws -> [UInt8] {
        let handle = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
        let data: Data
        do {
            guard let handle else { throw CocoaError(.fileNoSuchFile) }
            // `read` returns nil for an empty file. The examination reports the empty proof.
            data = try handle.read(upToCount: maximumSize + 1) ?? Data()
        } catch {
            throw CommandFailure("cannot read \(ShownText.plain(path))", code: 1)
        }
        guard data.count <= maximumSize else {
            throw CommandFailure("\(ShownText.plain(path)) holds more than \(maximumSize) bytes", code: 1)
        }
        return Array(data)
    }
}
