/// The parts that a signer puts around the payload of an app receipt.
public struct SimulatedSignature: Sendable {
    /// The RSA signature over the payload octets; receipts have no signed attributes.
    public var signature: [UInt8]
    /// DER certificates: leaf, intermediate, root.
    public var certificates: [[UInt8]]
    /// The DER `IssuerAndSerialNumber` of the leaf; nil makes one up.
    public var issuerAndSerialNumber: [UInt8]?

    public init(signature: [UInt8], certificates: [[UInt8]] = [], issuerAndSerialNumber: [UInt8]? = nil) {
        self.signature = signature
        self.certificates = certificates
        self.issuerAndSerialNumber = issuerAndSerialNumber
    }

    /// A worthless signature of the size of a real one (RSA 2048), without certificates.
    public static let dummy = SimulatedSignature(signature: [UInt8](repeating: 0x5A, count: 256))
}
