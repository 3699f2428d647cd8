import Encodings
import Foundation
import Fulfillment

/// Reads inputs from the project's sample cases.
enum SeedFiles {
    private static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "seeds")

    static func text(_ path: String) throws -> String {
        try String(contentsOf: folder.appending(path: path), encoding: .utf8)
    }

    /// Returns every record of at most `maximum` bytes, from all cases.
    static func submissions(maximum: Int = 16_384) throws -> [[UInt8]] {
        let cases = folder.appending(path: "cases")
        return try FileManager.default.contentsOfDirectory(atPath: cases.path()).sorted().flatMap { name in
            try text("cases/\(name)/submissions.jsonl").split(separator: "\n").map { Array($0.utf8) }
        }.filter { $0.count <= maximum }
    }

    /// Returns each different `receipt_data` of at most `maximum` bytes, decoded.
    static func receipts(maximum: Int = 16_384) throws -> [[UInt8]] {
        var receipts = Set<[UInt8]>()
        for record in try submissions(maximum: maximum * 2) {
            guard case .submission(let submission) = SubmissionDecoder().decode(record, signatureHeaders: []),
                case .receipt(let text) = submission.proof, let receipt = Base64.decode(text.utf8)
            else { continue }
            receipts.insert(receipt)
        }
        return receipts.filter { $0.count <= maximum }.sorted { $0.lexicographicallyPrecedes($1) }
    }
}
