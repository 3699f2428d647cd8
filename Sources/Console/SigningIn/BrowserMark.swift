import Crypto
import Foundation

/// Tells a browser that a user signed in with before. It lets nobody in: its holder's tries are only counted apart. It ends
/// with the user's password, which its proof is made with, and outlives the console's process.
struct BrowserMark: Hashable, Sendable {
    /// Of this browser's own, at random, in hexadecimal.
    let id: String
    private let proof: String

    /// A new one.
    init(of name: String, password: SHA256Digest) {
        self.init(id: Sessions.secret(), of: name, password: password)
    }

    /// Nil where `text`, as the browser sent it, is none of this user's.
    init?(_ text: String, of name: String, password: SHA256Digest) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 64 else { return nil }
        self.init(id: String(parts[0]), of: name, password: password)
        // Digests are compared in constant time.
        guard SHA256.hash(data: Data(parts[1].utf8)) == SHA256.hash(data: Data(proof.utf8)) else { return nil }
    }

    private init(id: String, of name: String, password: SHA256Digest) {
        self.id = id
        let key = SymmetricKey(data: Data(password))
        let message = Data("browser \(id) of \(name)".utf8)
        proof = HMAC<SHA256>.authenticationCode(for: message, using: key).map { byte in
            let digits = Array("0123456789abcdef")
            return String([digits[Int(byte >> 4)], digits[Int(byte & 15)]])
        }.joined()
    }

    var text: String { "\(id).\(proof)" }
}
