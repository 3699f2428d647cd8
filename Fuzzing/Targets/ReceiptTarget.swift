import AppleProofs
import Foundation
import Fulfillment

extension FuzzTarget {
    /// The decoded bytes of `receipt_data`: DER and BER, PKCS #7, certificates, iOS 6 property lists.
    static let receipt = FuzzTarget(
        name: "receipt",
        seeds: {
            try SeedFiles.receipts() + [Array("{ \"purchase-info\" = \"e30=\"; \"signature\" = \"AA==\"; }".utf8)]
        },
        check: { bytes in
            let reading = reader.readReceipt(bytes)
            mustHold(
                reader.readReceipt(bytes) == reading, "the same bytes get the same reading, whatever was read before")
            guard case .read(var receipt) = reading else { return }
            mustHold(receipt.purchases.count == receipt.kinds.count, "every purchase has its kind's place")
            mustHold(receipt.purchases.allSatisfy { $0.quantity >= 1 }, "no quantity is below one")
            guard receipt.signature == .proven else { return }
            receipt.environment = receipt.style == .appReceipt ? receipt.environment : nil
            mustHold(genuine.contains(receipt), "nothing is proven but what was signed")
        },
        read: { _ = reader.readReceipt($0) },
        families: [
            bytes("indefinite sequences", [0x30, 0x80]), bytes("indefinite segments", [0x24, 0x80]),
            bytes("empty octets", [0x04, 0x00]), bytes("empty sequences", [0x30, 0x00]), bytes("ends", [0x00, 0x00]),
            bytes("long sequences", [0x30, 0x82, 0xFF, 0xFF]), bytes("long sets", [0x31, 0x83, 0x0F, 0x00, 0x00]),
            inside("attributes", [0x30, 0x09, 0x02, 0x01, 0x11, 0x02, 0x01, 0x01, 0x04, 0x01, 0x00]),
            inside("empty purchases", [0x30, 0x0A, 0x02, 0x01, 0x11, 0x02, 0x01, 0x01, 0x04, 0x02, 0x31, 0x00]),
            .repeating("\"a\"=\"b\";", after: "{", size: size), .repeating("\\\\", after: "{\"", size: size),
            .repeating("{", size: size),
            .repeating(" ", after: "{", size: size),
        ],
        words: ["purchase-info", "signature", "transaction-id", "environment", "Sandbox", "\u{30}\u{00}", "\" = \""])

    private static let reader: ProofReader = {
        guard let pem = try? SeedFiles.text("signing/root.pem"), let roots = try? AppleRoots(pem: pem) else {
            fatalError("seeds/signing/root.pem is missing")
        }
        return ProofReader(roots: roots)
    }()

    /// The contents of the seeds' proven receipts.
    private static let genuine: [LocalReceipt] = {
        let receipts = (try? SeedFiles.receipts()) ?? []
        let proven = receipts.compactMap { bytes -> LocalReceipt? in
            guard case .read(let receipt) = reader.readReceipt(bytes), receipt.signature == .proven else { return nil }
            return receipt
        }
        mustHold(proven.count > 20, "the seeds hold proven receipts")
        return proven
    }()

    /// The size in bytes, below the reader's limit.
    private static let size = 1_000_000

    private static func bytes(_ name: String, _ piece: [UInt8]) -> GrowthFamily {
        GrowthFamily(name: name, size: size) { size in
            message(Array(repeatElement(piece, count: size / piece.count).joined()))
        }
    }

    /// Makes messages whose payload is a SET with many copies of the element.
    private static func inside(_ name: String, _ element: [UInt8]) -> GrowthFamily {
        GrowthFamily(name: name, size: size) { size in
            message(tlv(0x04, tlv(0x31, Array(repeatElement(element, count: size / element.count).joined()))))
        }
    }

    /// Returns a signed message with this content and without a valid signature.
    private static func message(_ content: [UInt8]) -> [UInt8] {
        let data = tlv(0x30, tlv(0x06, EncodedOID.data) + tlv(0xA0, content))
        let digest = tlv(0x30, tlv(0x06, EncodedOID.sha256))
        let name = tlv(0x30, tlv(0x30, []) + tlv(0x02, [1]))
        let signer = tlv(
            0x30, tlv(0x02, [1]) + name + digest + tlv(0x30, tlv(0x06, EncodedOID.rsaEncryption)) + tlv(0x04, [0]))
        let body = tlv(0x30, tlv(0x02, [1]) + tlv(0x31, []) + data + tlv(0x31, signer))
        return tlv(0x30, tlv(0x06, EncodedOID.signedData) + tlv(0xA0, body))
    }

    private static func tlv(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] =
            count < 0x80
            ? [UInt8(count)]
            : [0x83, UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
        return [tag] + length + content
    }
}
