import Testing

@testable import Administration

@Suite("Tables and progress bars in a terminal")
struct TerminalWidthTests {
    private let heading = ["TRANSACTION", "REASON", "DETAIL"]
    private let row = ["470001000000001", "kind_mismatch", "Apple calls it a subscription, the catalog a consumable"]

    @Test("receiptd cuts a table to the terminal's width, except for the first column, and cuts no table in a pipe")
    func table() {
        let cut = TextTable.lines(heading, [row], width: 50)
        #expect(cut.allSatisfy { $0.count <= 50 })
        #expect(cut[1] == "470001000000001  kind_mismatch  Apple calls it a …")
        #expect(TextTable.lines(heading, [row], width: 200) == TextTable.lines(heading, [row]))
        #expect(TextTable.lines(heading, [row])[1].hasSuffix("the catalog a consumable"))
        #expect(TextTable.lines(heading, [row], width: 10)[1].hasPrefix("470001000000001  kind_…"))
    }

    @Test("a progress bar fits the terminal's width, and always shows the per cent", arguments: [10, 20, 40, 60, 80])
    func bar(width: Int) {
        let line = ProgressText.line(250, of: 1000, count: 250, seconds: 10, width: width)
        #expect(line.count <= width)
        #expect(line.contains("25 %"))
        #expect(line.hasSuffix("30 s left") == (width >= 60))
    }
}
