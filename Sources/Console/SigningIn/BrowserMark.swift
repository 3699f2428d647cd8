import Crypto
import Foundation
import ReceiptdConfiguration

/// Tells a browser that a user signed in with before. It lets nobody in: its holder's tries are only counted apart. It ends
/// with the user's password, which its proof is made with, and outlives the console's process.
struct BrowserMark: Hashable, Sendable {
    /// This browser's own random id, in hexadecimal.
    let id: String
    private let proof: String

    /// A new one.
    init(of name: String, by key: SymmetricKey) {
        self.init(id: Sessions.secret(), of: name, by: key)
    }

    /// Returns nil if `text`, as the browser sent it, is no mark of this user's.
    init?(_ text: String, of name: String, by key: SymmetricKey) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 64 else { return nil }
        self.init(id: String(parts[0]), of: name, by: key)
        // Digests are compared in constant time.
        guard SHA256.hash(data: Data(parts[1].utf8)) == SHA256.hash(data: Data(proof.utf8)) else { return nil }
    }

    /// The key of a user's browsers. It comes from the password's hash, which nobody sees: whoever gets hold of a mark cannot
    /// try passwords on it.
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
