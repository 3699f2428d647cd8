import Foundation
import ReceiptdConfiguration

/// Reads the file that an operator names to `receiptd proof`.
package enum ProofFile {
    /// The most bytes: a receipt of 1 MiB in base64, with an envelope around it.
    package static let maximumSize = 4 * 1024 * 1024

    /// - Parameter path: "-" is standard input.
    /// - Throws: `CommandFailure` where it cannot be read or is larger than `maximumSize`.
    package static func read(_ path: String) throws -> [UInt8] {
        let handle = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
        let data: Data
        do {
            guard let handle else { throw CocoaError(.fileNoSuchFile) }
            // `read` returns nil for an empty file, which is a proof of no kind.
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
