import Crypto
import CryptoExtras
import Foundation
import ReceiptdConfiguration

extension PasswordHash {
    /// The cost of a new hash: each try takes a tenth of a second and 32 MiB.
    private static let usualLogRounds = 15
    private static let usualBlockSize = 8
    private static let saltBytes = 16
    private static let digestBytes = 32

    /// Hashes a password with a random salt, which takes a tenth of a second. Returns nil if there is not enough
    /// memory.
    package init?(of password: String) {
        let salted = PasswordHash(
            logRounds: Self.usualLogRounds, blockSize: Self.usualBlockSize, parallelism: 1,
            salt: Self.random(Self.saltBytes), digest: [UInt8](repeating: 0, count: Self.digestBytes))
        guard let digest = salted.digest(of: password) else { return nil }
        self = salted.replacing(digest)
    }

    /// A hash that matches no password. A try against this hash takes as long as a try against the user's hash.
    var ofNobody: PasswordHash { replacing(Self.random(digest.count)) }

    private func replacing(_ digest: [UInt8]) -> PasswordHash {
        PasswordHash(logRounds: logRounds, blockSize: blockSize, parallelism: parallelism, salt: salt, digest: digest)
    }

    private static func random(_ count: Int) -> [UInt8] {
        SymmetricKey(size: .init(bitCount: count * 8)).withUnsafeBytes { Array($0) }
    }

    /// Returns true if the password is right; false if it is wrong, or if there is not enough memory. The time does not
    /// depend on the result.
    func matches(_ password: String) -> Bool {
        guard let typed = digest(of: password) else { return false }
        // Comparing SHA-256 digests takes constant time.
        return SHA256.hash(data: Data(typed)) == SHA256.hash(data: Data(digest))
    }

    private func digest(of password: String) -> [UInt8]? {
        let key = try? KDF.Scrypt.deriveKey(
            from: Data(password.utf8), salt: Data(salt), outputByteCount: digest.count, rounds: 1 << logRounds,
            blockSize: blockSize, parallelism: parallelism)
        return key?.withUnsafeBytes { Array($0) }
    }
}
