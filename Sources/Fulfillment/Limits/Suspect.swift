/// The possible causes of a failure: hashes of the player and of the proof.
public struct Suspect: Sendable, Equatable {
    public let player: Int
    public let proof: Int

    public init(player: Int, proof: Int) {
        self.player = player
        self.proof = proof
    }

    /// Returns whether both suspects have one player or one proof, so that both failures may have one cause.
    func isSame(as other: Suspect) -> Bool { player == other.player || proof == other.proof }
}
