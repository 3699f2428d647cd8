import Testing

@testable import Administration
@testable import receiptd

@Suite("The confirmation of irreversible commands")
struct ConfirmationTests {
    private func code(isGiven: Bool, isTerminal: Bool, answer: String?) -> Int32? {
        var asked = ""
        let confirmation = Confirmation(isGiven: isGiven, isTerminal: isTerminal) { question in
            asked = question
            return answer
        }
        defer { #expect(asked.contains("reject 12 held transactions") == (isTerminal && !isGiven)) }
        do {
            try confirmation.require("reject 12 held transactions")
            return nil
        } catch {
            #expect((error as? CommandFailure)?.message.contains("nothing was done") == true)
            return (error as? CommandFailure)?.code
        }
    }

    @Test("without --yes an irreversible command asks for a yes on a terminal, and fails if there is no terminal")
    func table() {
        #expect(code(isGiven: true, isTerminal: false, answer: nil) == nil)
        #expect(code(isGiven: true, isTerminal: true, answer: "no") == nil)
        #expect(code(isGiven: false, isTerminal: false, answer: "yes") == 64)
        for consent in ["yes", "Y", " YES "] {
            #expect(code(isGiven: false, isTerminal: true, answer: consent) == nil)
        }
        for refusal in ["", "n", "no", "yep", nil] {
            #expect(code(isGiven: false, isTerminal: true, answer: refusal) == 1)
        }
    }

    @Test("a progress bar shows per cent, count, rate and remaining time")
    func progress() {
        #expect(
            ProgressText.line(250, of: 1000, count: 250, seconds: 10)
                == "███████░░░░░░░░░░░░░░░░░░░░░░░ 25 %, 250 of 1000, 25 a second, 30 s left")
        #expect(
            ProgressText.line(50_000, of: 200_000, count: 500, seconds: 100).hasSuffix(
                "25 %, 500, 5 a second, 5 min 0 s left"))
        #expect(ProgressText.line(1, of: 1000, count: 1, seconds: 10).hasSuffix("0 a second, 2 h 46 min left"))
        #expect(
            ProgressText.line(1000, of: 1000, count: 1000, seconds: 2).hasSuffix("100 %, 1000 of 1000, 500 a second"))
        #expect(ProgressText.line(0, of: 0, count: 0, seconds: 0).hasSuffix("100 %, 0 of 0"))
        #expect(ProgressText.line(5, of: 10, count: 5, seconds: 0.1).hasSuffix("50 %, 5 of 10"))
    }
}
