import Testing

@testable import Fulfillment

@Suite("Misspelt member names")
struct MisspeltMemberTests {
    private func misspelt(_ members: String) -> [MisspeltMember] {
        MisspeltMember.all(in: Array("{\(members)}".utf8))
    }

    @Test("a member name in another case or with other separators is reported with the known name")
    func near() {
        for (name, known) in [
            ("playerId", "player_id"), ("receipt-data", "receipt_data"), ("receiptData", "receipt_data"),
            ("AppAccountToken", "app_account_token"), ("bundle id", "bundle_id"), ("SUBMISSION.ID", "submission_id"),
        ] {
            #expect(misspelt(#""\#(name)":"x""#) == [MisspeltMember(name: name, known: known)])
        }
    }

    @Test("an unknown name, or a misspelt name beside the known member, is not reported")
    func far() {
        let long = String(repeating: "_", count: 60) + "player_id"
        for members in [
            #""player":"x""#, #""note":1"#, #""playerId":"x","player_id":"y""#, "", #""pl\u00e4yerid":1"#,
            #""\#(long)":1"#,
        ] {
            #expect(misspelt(members).isEmpty)
        }
        #expect(MisspeltMember.all(in: Array("no JSON".utf8)).isEmpty)
    }

    @Test("the dead letter for a missing member names the similar member and suggests the right name")
    func hint() {
        let record = #"{"submission_id":"s","playerId":"p","bundle_id":"b","receipt_data":"MIIB"}"#
        guard case .deadLetter(let letter) = SubmissionDecoder().decode(Array(record.utf8), signatureHeaders: []) else {
            Issue.record("it was taken")
            return
        }
        #expect(letter.detail == #"player_id is missing; "playerId": did you mean player_id?"#)
    }
}
