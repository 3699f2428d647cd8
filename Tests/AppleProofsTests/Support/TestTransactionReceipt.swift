import Crypto
import CryptoExtras
import Encodings
import Fulfillment

@testable import AppleProofs

/// An iOS 6 receipt that a test makes.
struct TestTransactionReceipt {
    enum Spacing: CaseIterable {
        case wide
        case compact
        /// The text has no quotation marks where none are needed, and no last semicolon.
        case bare
    }

    var spacing = Spacing.wide
    var environment: String?
    var version: UInt8 = 3
    var info = [
        "original-transaction-id": "470000000000001", "transaction-id": "470000000000002", "quantity": "3",
        "product-id": "com.example.castle.gems.100", "bid": "com.example.castle", "app-item-id": "1450000001",
        "purchase-date-ms": "1367395200000", "purchase-date": "2013-05-01 08:00:00 Etc/GMT",
    ]

    func signed(by authority: TestAuthority) throws -> [UInt8] {
        let info = write(self.info.sorted { $0.key < $1.key })
        return text(info: info, signature: try blob(over: info, authority))
    }

    func text(info: [UInt8], signature: [UInt8]) -> [UInt8] {
        var pairs = [("signature", Base64.encode(signature)), ("purchase-info", Base64.encode(info))]
        if let environment { pairs.append(("environment", environment)) }
        return write(pairs + [("pod", "22"), ("signing-status", "0")])
    }

    func blob(over info: [UInt8], _ authority: TestAuthority) throws -> [UInt8] {
        let digest = Insecure.SHA1.hash(data: [version] + info)
        let signature = try TestKeys.receiptKey().signature(for: digest, padding: .insecurePKCS1v1_5).rawRepresentation
        let length = authority.leaf.count
        return [version] + Array(signature) + [0, 0, UInt8(length >> 8), UInt8(length & 0xFF)] + authority.leaf
    }

    func write(_ pairs: [(String, String)]) -> [UInt8] {
        let lines = pairs.map { key, value in
            switch spacing {
            case .wide: "\t\"\(key)\" = \"\(value)\";\n"
            case .compact: "\"\(key)\"=\"\(value)\";"
            case .bare: "\(key) = \(value.allSatisfy { $0.isLetter || $0.isNumber } ? value : "\"\(value)\"")"
            }
        }
        switch spacing {
        case .wide: return Array("{\n\(lines.joined())}".utf8)
        case .compact: return Array("{\(lines.joined())}".utf8)
        case .bare: return Array("{ \(lines.joined(separator: "; ")) }\n\0".utf8)
        }
    }
}
