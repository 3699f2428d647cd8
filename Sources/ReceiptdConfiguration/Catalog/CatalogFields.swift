import Fulfillment

/// The keys of a mapping in a catalog file. The reader takes each key that it knows. So every remaining key is unknown.
struct CatalogFields {
    let position: TextPosition
    let owner: String
    private(set) var entries: [YAMLEntry]

    init(_ entries: [YAMLEntry], position: TextPosition, owner: String) {
        self.entries = entries
        self.position = position
        self.owner = owner
    }

    func has(_ name: String) -> Bool { entries.contains { $0.name == name } }

    mutating func take(_ name: String) -> YAMLNode? {
        guard let index = entries.firstIndex(where: { $0.name == name }) else { return nil }
        return entries.remove(at: index).value
    }
}

extension CatalogReader {
    /// Returns the keys of a mapping. Returns nil, and adds a fault, if `node` is no mapping.
    mutating func fields(of node: YAMLNode, called name: String) -> CatalogFields? {
        switch node.content {
        case .mapping(let entries): return CatalogFields(entries, position: node.position, owner: name)
        case .unreadable: return nil
        case .scalar, .sequence:
            fail(node.position, "\(name) must be a mapping, `key: value`")
            return nil
        }
    }

    /// Takes a key that must be there. Returns nil, and adds a fault, if the key is missing.
    mutating func required(_ name: String, in fields: inout CatalogFields) -> YAMLNode? {
        if let node = fields.take(name) { return node }
        fail(fields.position, "`\(name)` is missing in \(fields.owner)")
        return nil
    }

    /// Adds a fault for each key that the reader did not take.
    mutating func finish(_ fields: CatalogFields) {
        for entry in fields.entries {
            fail(entry.position, "\(fields.owner) has no key \(ShownText.quoted(entry.name))")
        }
    }

    mutating func elements(of node: YAMLNode, called name: String) -> [YAMLNode]? {
        switch node.content {
        case .sequence(let elements): return elements
        case .unreadable: return nil
        case .scalar, .mapping:
            fail(node.position, "`\(name)` must be a list")
            return nil
        }
    }

    /// Returns the text of a scalar, which may be a number. Returns nil, and adds a fault, if the text is empty, too
    /// long or contains NUL.
    /// - Parameter maximum: the most Unicode scalars.
    mutating func text(_ node: YAMLNode, called name: String, maximum: Int) -> String? {
        guard let scalar = scalar(node, called: name) else { return nil }
        guard !scalar.text.isEmpty, scalar.text.unicodeScalars.count <= maximum, !scalar.text.utf8.contains(0) else {
            fail(node.position, "`\(name)` must be text of 1 to \(maximum) characters, none of them NUL")
            return nil
        }
        return scalar.text
    }

    /// Returns a whole number without quotes. Returns nil, and adds a fault, for another text or a number outside
    /// `range`.
    mutating func integer(_ node: YAMLNode, called name: String, in range: ClosedRange<Int64>) -> Int64? {
        guard let scalar = scalar(node, called: name) else { return nil }
        let isDecimal = scalar.isPlain && scalar.text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isDecimal, scalar.text == "0" || !scalar.text.hasPrefix("0"), let value = Int64(scalar.text),
            range.contains(value)
        else {
            let bounds = "from \(range.lowerBound) to \(range.upperBound)"
            fail(node.position, "`\(name)` must be a whole number \(bounds), not \(ShownText.quoted(scalar.text))")
            return nil
        }
        return value
    }

    /// Sets `target` to the value of a word in `choices`. Does not change `target` if the key is missing. Adds a fault
    /// for any other word.
    mutating func choose<Value>(
        _ name: String, in fields: inout CatalogFields, into target: inout Value,
        _ choices: [(word: String, value: Value)]
    ) {
        guard let node = fields.take(name), let scalar = scalar(node, called: name) else { return }
        if let choice = choices.first(where: { $0.word == scalar.text }) {
            target = choice.value
        } else {
            let words = choices.map(\.word).joined(separator: ", ")
            fail(node.position, "`\(name)` must be one of \(words), not \(ShownText.quoted(scalar.text))")
        }
    }

    /// Returns the name of the environment variable with a secret. Returns nil, and adds a fault, if the text is no
    /// such name.
    mutating func settingName(_ node: YAMLNode, called name: String) -> String? {
        guard let text = text(node, called: name, maximum: CatalogLimits.nameLength) else { return nil }
        let isName = text.utf8.enumerated().allSatisfy { index, byte in
            (0x41...0x5A).contains(byte) || index > 0 && ((0x30...0x39).contains(byte) || byte == 0x5F)
        }
        // The text may be the secret itself, so the fault does not contain it.
        guard isName else {
            fail(node.position, "`\(name)` must be the name of a setting (A-Z, 0-9 and _, a letter first), not a value")
            return nil
        }
        guard SettingName.namesByPath[SettingName.path(of: text)] != text else {
            fail(node.position, "`\(name)` must not be \(text), a setting of receiptd itself")
            return nil
        }
        guard !text.hasSuffix("_FILE") else {
            fail(node.position, "`\(name)` must not end in _FILE: add _FILE to the name in the environment only")
            return nil
        }
        return text
    }

    private mutating func scalar(_ node: YAMLNode, called name: String) -> YAMLScalar? {
        switch node.content {
        case .scalar(let scalar) where scalar.isNull:
            fail(node.position, "`\(name)` has no value")
            return nil
        case .scalar(let scalar): return scalar
        case .unreadable: return nil
        case .sequence, .mapping:
            fail(node.position, "`\(name)` must be one value, not a list or a mapping")
            return nil
        }
    }
}
