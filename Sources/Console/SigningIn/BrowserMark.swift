import Crypto
import Foundation
import ReceiptdConfiguration

/// Recognises a browser in which the user signed in before. The mark lets nobody in; it only counts the browser's tries
/// apart. The mark outlives the console's process, and ends with the user's password, from which its proof is made.
struct BrowserMark: Hashable, Sendable {
    /// The browser's own random id, in hexadecimal.
    let id: String
    private let proof: String

    /// Makes a mark with a new id.
    init(of name: String, by key: SymmetricKey) {
        self.init(id: Sessions.secret(), of: name, by: key)
    }

    /// Returns nil if the text that the browser sent is no mark of this user.
    init?(_ text: String, of name: String, by key: SymmetricKey) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 64 else { return nil }
        self.init(id: String(parts[0]), of: name, by: key)
        // Digests are compared in constant time.
        guard SHA256.hash(data: Data(parts[1].utf8)) == SHA256.hash(data: Data(proof.utf8)) else { return nil }
    }

    /// Returns the key for the marks of a user's browsers. The key comes from the password's secret hash, so that
    /// nobody can try passwords on a stolen mark.
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
