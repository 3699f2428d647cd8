/// The parts that a signer puts around the payload of an app receipt.
public struct SimulatedSignature: Sendable {
    /// The RSA signature over the payload itself, because receipts have no signed attributes.
    public var signature: [UInt8]
    /// The certificates in DER: leaf, intermediate, root.
    public var certificates: [[UInt8]]
    /// The `IssuerAndSerialNumber` of the leaf in DER. If it is nil, the receipt has made-up bytes in its place.
    public var issuerAndSerialNumber: [UInt8]?

    public init(signature: [UInt8], certificates: [[UInt8]] = [], issuerAndSerialNumber: [UInt8]? = nil) {
        self.signature = signature
        self.certificates = certificates
        self.issuerAndSerialNumber = issuerAndSerialNumber
    }

    /// A signature that is not valid, with the length of a real one (RSA 2048), without certificates.
    public static let dummy = SimulatedSignature(signature: [UInt8](repeating: 0x5A, count: 256))
}
