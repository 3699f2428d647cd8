import Fulfillment
import Kafka

/// HMAC-SHA-256 as in RFC 2104, with which a game server signs a record.
enum Signing {
    static func header(_ value: [UInt8], key: String) -> KafkaHeader {
        var block = Array(key.utf8)
        if block.count > 64 { block = Digest256(hashing: block).bytes }
        block += Array(repeating: 0, count: 64 - block.count)
        let inner = Digest256(hashing: block.map { $0 ^ 0x36 } + value).bytes
        let code = Digest256(hashing: block.map { $0 ^ 0x5C } + inner).bytes
        let digits = code.map { String($0 >> 4, radix: 16) + String($0 & 0xF, radix: 16) }.joined()
        return KafkaHeader(name: "receiptd-signature", value: Array("v1=\(digits)".utf8))
    }
}
