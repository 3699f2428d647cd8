import Testing

@testable import Operations
@testable import OperationsHTTP

@Suite("Text in HTML pages")
struct HTMLTextTests {
    @Test("`HTMLText.shown` spells out invisible characters, and `HTMLText.escaped` leaves them unchanged")
    func unseen() {
        let hostile = "a\u{202E}nimda\u{0007}<b>\r\n\u{200B}é"
        #expect(HTMLText.shown(hostile) == #"a\u{202e}nimda\u{7}&lt;b&gt;\u{d}\u{a}\u{200b}é"#)
        #expect(HTMLText.escaped(hostile) == "a\u{202E}nimda\u{0007}&lt;b&gt;\r\n\u{200B}é")
        #expect(HTMLText.shown("plain & simple") == "plain &amp; simple")
    }
}
