import Fulfillment
import Testing
import X509

@testable import AppleProofs

@Suite("Apple's root certificates, and the file that replaces them")
struct AppleRootsTests {
    @Test("the built-in roots have the fingerprints that Apple publishes")
    func builtIn() {
        let fingerprints = AppleRoots.builtIn.fingerprints.map(\.hexadecimal)
        #expect(
            fingerprints == [
                "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024",
                "c2b9b042dd57830e7d117dac55ac8ae19407d38e41d88f3215bc3a890444a050",
                "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179",
            ])
        #expect(AppleRoots.builtIn.intermediates.count == 1)
    }

    @Test("Apple's root signed the built-in issuer certificate of iOS 6 receipts")
    func builtInIntermediate() throws {
        let issuer = try #require(AppleRoots.builtIn.intermediates.first)
        let trusted = try #require(TrustedCertificate(Array(issuer.bytes)))
        let root = try #require(AppleRoots.builtIn.roots.first { $0.subject == issuer.issuer })
        #expect(root.certificate.publicKey.isValidSignature(trusted.certificate.signature, for: trusted.certificate))
    }

    @Test("the roots of a PEM file replace Apple's roots, and the file may add issuer certificates of iOS 6 receipts")
    func pem() throws {
        let root = try Seeds.text("signing/root.pem")
        #expect(try AppleRoots(pem: root).roots.count == 2)
        let both = try AppleRoots(pem: root + Seeds.text("signing/intermediate.pem"))
        #expect(both.roots.count == 2 && both.intermediates.count == 1)
    }

    @Test("roots whose private keys are in the repository count as published and foreign; Apple's roots do not")
    func published() throws {
        let ours = try AppleRoots(pem: Seeds.text("signing/root.pem"))
        #expect(Set(ours.fingerprints.map(\.hexadecimal)) == AppleRoots.published)
        #expect(ours.holdsPublishedRoot)
        #expect(ours.foreignCount == 2)
        #expect(!AppleRoots.builtIn.holdsPublishedRoot)
        #expect(AppleRoots.builtIn.foreignCount == 0)
    }

    @Test("a root file that is no PEM, has an unusable certificate or has no root is refused with a fault")
    func faults() throws {
        let root = try Seeds.text("signing/root.pem")
        let noCertificate = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
        #expect(throws: AppleRoots.Fault.notPEM) { try AppleRoots(pem: "") }
        #expect(throws: AppleRoots.Fault.notPEM) { try AppleRoots(pem: "certificates") }
        #expect(throws: AppleRoots.Fault.unusable(certificate: 3)) { try AppleRoots(pem: root + noCertificate) }
        #expect(throws: AppleRoots.Fault.unusable(certificate: 1)) {
            try AppleRoots(pem: Seeds.text("signing/leaf-key.pem"))
        }
        #expect(throws: AppleRoots.Fault.noRoot) { try AppleRoots(pem: Seeds.text("signing/leaf.pem")) }
    }
}
