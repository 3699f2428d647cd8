import NamesAndTimes

public typealias PlayerID = Identifier
public typealias BundleID = Identifier
public typealias ProductID = Identifier
public typealias StoreTransactionID = Identifier
public typealias AppTransactionID = Identifier
