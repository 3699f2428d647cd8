import BackOffice
import OperationsHTTP

struct FilterForm {
    let path: String
    private var fields: [String] = []

    init(path: String) { self.path = path }

    var html: String {
        """
        <form class="filter" action="\(path)" method="get">\(fields.joined())<button>Filter</button></form>
        """
    }

    mutating func text(_ name: String, _ label: String, _ value: String?) {
        add(
            name, label,
            """
            <input id="\(name)" name="\(name)" value="\(HTMLText.escaped(value ?? ""))" placeholder="any" \
            maxlength="\(SearchLimits.maximumID)" autocomplete="off" spellcheck="false">
            """)
    }

    /// Adds a choice between "any" and the values that rows have. The form offers the chosen value even if no row has
    /// it any more.
    mutating func choice(
        _ name: String, _ label: String, _ offered: [(value: String, words: String)], _ chosen: String?
    ) {
        let gone: (value: String, words: String)? =
            offered.contains { $0.value == chosen } ? nil : chosen.map { ($0, $0) }
        let options = (offered + [gone].compactMap(\.self)).map { value, words in
            "<option value=\"\(HTMLText.escaped(value))\"\(value == chosen ? " selected" : "")>\(HTMLText.shown(words))</option>"
        }
        add(
            name, label,
            "<select id=\"\(name)\" name=\"\(name)\"><option value=\"\">any</option>\(options.joined())</select>")
    }

    mutating func ages(_ ages: [ListAge], _ chosen: ListAge?) {
        guard !ages.isEmpty else { return }
        choice("age", "Age", ages.map { ($0.rawValue, $0.words) }, chosen?.rawValue)
    }

    private mutating func add(_ name: String, _ label: String, _ control: String) {
        fields.append("<div><label for=\"\(name)\">\(label)</label> \(control)</div>")
    }
}
