import Fulfillment
import Synchronization

/// A parser in the test's hand. What it was told nothing of is not provable where it looks like a receipt, else malformed.
final class ScriptedProofs: ProofParser {
    private let readings = Mutex<[Digest256: ProofReading]>([:])

    func read(_ proof: Submission.Proof, as reading: ProofReading) {
        guard let digest = DecodedProof(proof)?.digest else { return }
        readings.withLock { $0[digest] = reading }
    }

    func parse(receipt bytes: [UInt8]) -> ProofReading {
        let known = readings.withLock { $0[Digest256(hashing: bytes)] }
        return known ?? (bytes.first == 0x30 ? .read(nil, .notProvable) : .malformed)
    }

    func parse(signedTransaction text: String) -> ProofReading {
        readings.withLock { $0[Digest256(hashing: Array(text.utf8))] } ?? .malformed
    }
}
