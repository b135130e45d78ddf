// SPDX-License-Identifier: Apache-2.0

package credentials

import "strings"

// Database reports whether the value of a variable such as DATABASE_URL says where a
// database is, and holds no credential. Only a plain form is known, and what is not
// known to be harmless counts as a credential: a letter that may be an escape, a
// user where programs take one for a password, a parameter of another name.
func Database(value string) bool {
	scheme, rest, ok := strings.Cut(value, ":")
	base, driver, _ := strings.Cut(scheme, "+")
	if !ok || !among(databases, base) || driver != "" && !among(drivers, driver) || len(value) > 512 || token(value) {
		return false
	}
	rest, query, _ := strings.Cut(rest, "?")
	host, path := "", rest
	if after, has := strings.CutPrefix(rest, "//"); has {
		host, path, _ = strings.Cut(after, "/")
	} else if !strings.HasPrefix(base, "sqlite") && base != "file" {
		return false // a user and a password, for all that is known
	}
	if user, at, both := strings.Cut(host, "@"); both {
		if !among(users, base) || len(user) > 16 || !made(user, "_-") {
			return false
		}
		host = at
	}
	for one := range strings.SplitSeq(host, ",") {
		if name, port, _ := strings.Cut(one, ":"); !made(name, "._-") || len(port) > 5 || strings.Trim(port, "0123456789") != "" {
			return false
		}
	}
	if path != ":memory:" && !made(path, "/._-") {
		return false
	}
	for elem := range strings.SplitSeq(path, "/") {
		if len(elem) > 24 && !strings.Contains(elem, ".") { // names are seldom so long, tokens always
			return false
		}
	}
	for one := range strings.SplitSeq(query, "&") {
		name, set, _ := strings.Cut(one, "=")
		if one != "" && !among(parameters, name) || len(set) > 32 || !made(set, "/._-") {
			return false
		}
	}
	return true
}

const (
	databases = " sqlite sqlite3 file postgres postgresql mysql mysql2 mariadb cockroachdb sqlserver mssql " +
		"redis rediss amqp amqps mongodb "
	drivers = " aiomysql aiosqlite asyncmy asyncpg cymysql mariadbconnector mysqlconnector mysqldb pg8000 psycopg " +
		"psycopg2 psycopg2cffi pymssql pymysql pyodbc pysqlite "
	// users are those where the text before "@" is never a password.
	users      = " postgres postgresql mysql mysql2 mariadb cockroachdb "
	parameters = " sslmode ssl tls mode cache schema charset encoding collation serverVersion application_name " +
		"connection_limit pool_timeout connect_timeout timeout pool socket host retryWrites w replicaSet " +
		"directConnection readPreference parseTime loc db vhost heartbeat "
)

func among(list, name string) bool {
	return name != "" && !strings.Contains(name, " ") && strings.Contains(list, " "+name+" ")
}

// made reports whether a text consists of letters, digits and some others.
func made(text, others string) bool {
	return strings.IndexFunc(text, func(r rune) bool {
		return (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && !strings.ContainsRune(others, r)
	}) < 0
}
