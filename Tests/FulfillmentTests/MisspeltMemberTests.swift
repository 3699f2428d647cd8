import Testing

@testable import Fulfillment

@Suite("Misspelt member names of submissions")
struct MisspeltMemberTests {
    private func misspelt(_ members: String) -> [MisspeltMember] {
        MisspeltMember.all(in: Array("{\(members)}".utf8))
    }

    @Test("the decoder reports a member name that differs from a known name only in case or separators")
    func near() {
        for (name, known) in [
            ("playerId", "player_id"), ("receipt-data", "receipt_data"), ("receiptData", "receipt_data"),
            ("AppAccountToken", "app_account_token"), ("bundle id", "bundle_id"), ("SUBMISSION.ID", "submission_id"),
        ] {
            #expect(misspelt(#""\#(name)":"x""#) == [MisspeltMember(name: name, known: known)])
        }
    }

    @Test("the decoder reports no unknown member name, and no misspelt name if the known member is also present")
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

    @Test("if a member is missing, the dead letter quotes the similar member name and suggests the right name")
    func hint() {
        let record = #"{"submission_id":"s","playerId":"p","bundle_id":"b","receipt_data":"MIIB"}"#
        guard case .deadLetter(let letter) = SubmissionDecoder().decode(Array(record.utf8), signatureHeaders: []) else {
            Issue.record("it was taken")
            return
        }
        #expect(letter.detail == #"player_id is missing; "playerId": did you mean player_id?"#)
    }
}
