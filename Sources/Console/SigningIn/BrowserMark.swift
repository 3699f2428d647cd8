import Crypto
import Foundation
import ReceiptdConfiguration

/// Recognises a browser with which the user signed in before. A mark does not sign anybody in: the console only counts
/// the wrong passwords of this browser separately. The mark survives a restart of the console. Its proof depends on the
/// password, so the mark is void once the user's password changes.
struct BrowserMark: Hashable, Sendable {
    /// The random id of the browser, in hexadecimal.
    let id: String
    private let proof: String

    init(of name: String, by key: SymmetricKey) {
        self.init(id: Sessions.secret(), of: name, by: key)
    }

    /// Returns nil if the browser's text is not a mark of this user.
    init?(_ text: String, of name: String, by key: SymmetricKey) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 64 else { return nil }
        self.init(id: String(parts[0]), of: name, by: key)
        // Comparing SHA-256 digests takes constant time.
        guard SHA256.hash(data: Data(parts[1].utf8)) == SHA256.hash(data: Data(proof.utf8)) else { return nil }
    }

    /// Returns the key of the marks of a user's browsers. The key depends on the hash of the password, which is secret.
    /// So a stolen mark does not let anybody try passwords offline.
    static func key(of name: String, password: PasswordHash) -> SymmetricKey {
        let hash = SymmetricKey(data: Data(password.text.utf8))
        let message = Data("receiptd: the browsers of \(name)".utf8)
        return SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: message, using: hash))
    }

    private init(id: String, of name: String, by key: SymmetricKey) {
        self.id = id
        let message = Data("browser \(id) of \(name)".utf8)
        proof = HMAC<SHA256>.authenticationCode(for: message, using: key).map { byte in
            let digits = Array("0123456789abcdef")
            return String([digits[Int(byte >> 4)], digits[Int(byte & 15)]])
        }.joined()
    }

    var text: String { "\(id).\(proof)" }
}
