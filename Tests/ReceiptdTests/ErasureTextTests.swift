import NamesAndTimes
import Testing

@testable import Administration
@testable import BackOffice

@Suite("The sentences of `players erase`")
struct ErasureTextTests {
    private func waiting(held: Int, announced: Int = 0, parked: Int, unpublished: Int = 0) -> PlayerErasure.Waiting {
        PlayerErasure.Waiting(
            held: held, parked: parked, announced: announced, unpublished: unpublished)
    }

    @Test("the sentence about waiting work counts held purchases and parked submissions, and announced ones if any")
    func counts() {
        #expect(ErasureText.waiting(waiting(held: 1, parked: 2)) == "1 held purchase and 2 parked submissions")
        #expect(
            ErasureText.waiting(waiting(held: 0, announced: 3, parked: 1))
                == "0 held purchases, 3 announced purchases and 1 parked submission")
    }

    @Test("the sentence about rows that are left counts each kind, and says to keep a worker running")
    func left() {
        let text = ErasureText.left(waiting(held: 2, parked: 0, unpublished: 1))
        #expect(text.hasPrefix("2 held purchases, 0 parked submissions and 1 unpublished event are left"))
        #expect(text.contains("keep a worker running"))
    }

    @Test("the lines about a complete erasure name the pseudonym and each place that the operator must clear")
    func erased() {
        let text = ErasureText.erased(as: "erased-7")
        for word in ["erased-7", "player-accounts", "outcomes", "dead letters", "backups", "logs", "catalog"] {
            #expect(text.contains(word), "\(word)")
        }
    }
}
