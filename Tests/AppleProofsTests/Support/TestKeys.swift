import Crypto
import CryptoExtras
import Foundation
import X509

@testable import AppleProofs

/// The folder of the project's seeds.
enum Seeds {
    static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "seeds")

    static func text(_ path: String) throws -> String {
        try String(contentsOf: folder.appending(path: path), encoding: .utf8)
    }
}

/// Keys that sign only proofs of tests.
enum TestKeys {
    /// Returns the seeds' RSA key, because generating an RSA key is slow.
    static func receiptKey() throws -> _RSA.Signing.PrivateKey {
        try _RSA.Signing.PrivateKey(pemRepresentation: Seeds.text("signing/leaf-key.pem"))
    }

    static let root = P384.Signing.PrivateKey()
    static let otherRoot = P384.Signing.PrivateKey()
    static let intermediate = P384.Signing.PrivateKey()
    static let transactionKey = P256.Signing.PrivateKey()
}
