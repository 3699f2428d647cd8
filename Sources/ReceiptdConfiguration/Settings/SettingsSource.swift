/// The texts of the settings from the environment and the settings file, before they are checked.
struct SettingsSource {
    struct Value: Equatable {
        let text: String
        /// The line in the settings file; nil if the value comes from the environment.
        let line: Int?
    }

    /// The faults of the settings file itself, and of secrets that cannot be read.
    private(set) var faults: [SettingsFault] = []
    private(set) var values: [SettingName: Value] = [:]
    /// The paths of the files with secrets.
    private(set) var secretFiles: [SettingName: String] = [:]

    /// The values in the settings file, by name in the environment, including `NAME_FILE`.
    private var fileValues: [String: Value] = [:]

    /// - Parameter file: the path of the settings file.
    init(environment: [String: String], file: String?) {
        if let file { readFile(file) }
        for name in SettingName.allCases { gather(name, environment: environment) }
    }

    /// Stores the text of one setting. The environment overrides the file. An empty text counts as not set.
    private mutating func gather(_ name: SettingName, environment: [String: String]) {
        guard let fileVariant = name.fileVariant else {
            if let text = environment[name.rawValue], !text.isEmpty {
                values[name] = Value(text: text, line: nil)
            } else {
                values[name] = fileValues[name.rawValue]
            }
            return
        }
        var value = environment[name.rawValue] ?? ""
        var path = environment[fileVariant] ?? ""
        var line: Int?
        if value.isEmpty, path.isEmpty {
            value = fileValues[name.rawValue]?.text ?? ""
            path = fileValues[fileVariant]?.text ?? ""
            line = fileValues[name.rawValue]?.line ?? fileValues[fileVariant]?.line
        }
        switch SecretSource.resolve(name.rawValue, value: value, file: path, line: line) {
        case .success(let secret):
            values[name] = secret.map { Value(text: $0.value, line: line) }
            secretFiles[name] = path.isEmpty ? nil : path
        case .failure(let fault): faults.append(fault)
        }
    }

    // MARK: - The settings file

    private static let fileFlag = "--config"

    private mutating func readFile(_ path: String) {
        do throws(BoundedFile.Fault) {
            readYAML(try BoundedFile.readText(path, limit: SettingsLimits.fileSize))
        } catch {
            faults.append(SettingsFault(Self.fileFlag, "the settings file \(error.message)"))
        }
    }

    private mutating func readYAML(_ text: String) {
        let document = YAMLDocument(text)
        for fault in document.faults {
            faults.append(SettingsFault(Self.fileFlag, fault.message, line: fault.position.line))
        }
        guard let root = document.root else { return }
        for section in entries(of: root, called: "the settings file") {
            let known = faults.count
            let entries = entries(of: section.value, called: ShownText.plain(section.name))
            for entry in entries { add(entry, path: "\(section.name).\(entry.name)") }
            // In an unknown section with keys, each key already has its fault.
            if entries.isEmpty, faults.count == known { requireSection(section) }
        }
    }

    /// Adds a fault if no setting is in a section of this name.
    private mutating func requireSection(_ section: YAMLEntry) {
        let names = Set(SettingName.namesByPath.keys.map { String($0.prefix { $0 != "." }) })
        guard !names.contains(section.name) else { return }
        let near = NearName.nearest(to: section.name, among: names.sorted())
        let question = near.map { ": is \($0) meant?" } ?? ""
        faults.append(
            SettingsFault(
                section.name, "there is no section of this name" + question, line: section.position.line))
    }

    /// Returns the keys of a mapping. A section without any key is allowed.
    private mutating func entries(of node: YAMLNode, called name: String) -> [YAMLEntry] {
        switch node.content {
        case .mapping(let entries): return entries
        case .scalar(let scalar) where scalar.isNull: return []
        case .unreadable: return []
        case .scalar, .sequence:
            let message = "\(name) must be a mapping, `section: { key: value }`"
            faults.append(SettingsFault(Self.fileFlag, message, line: node.position.line))
            return []
        }
    }

    private mutating func add(_ entry: YAMLEntry, path: String) {
        guard let name = SettingName.namesByPath[path] else {
            let near = NearName.nearest(to: path, among: SettingName.namesByPath.keys.sorted())
            let question = near.map { ": is \($0) meant?" } ?? ""
            faults.append(
                SettingsFault(path, "there is no setting of this name" + question, line: entry.position.line))
            return
        }
        switch entry.value.content {
        case .scalar(let scalar) where scalar.isNull || scalar.text.isEmpty: break
        case .scalar(let scalar): fileValues[name] = Value(text: scalar.text, line: entry.position.line)
        case .unreadable: break
        case .sequence, .mapping:
            faults.append(SettingsFault(name, "must be one value, not a list or a mapping", line: entry.position.line))
        }
    }
}
