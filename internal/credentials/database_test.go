// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"strings"
	"testing"

	"github.com/sbx-sandbox/sbx/internal/credentials"
)

func TestDatabase(t *testing.T) {
	for _, value := range []string{
		"sqlite:x.db", "sqlite::memory:", "sqlite://", "sqlite:///x.db", "sqlite:////srv/app/x.db?mode=ro", "file:./dev.db",
		"sqlite+aiosqlite:///app.db", "postgres://localhost/x", "postgresql+psycopg2://app@localhost:5432/x_test",
		"postgres://app_user@db.example.com/x?sslmode=disable&connect_timeout=3", "postgres:///x?host=/var/run/postgresql",
		"mysql://root@127.0.0.1:3306/x?charset=utf8mb4", "redis://localhost:6379/0", "redis://", "amqp://localhost:5672/",
		"mongodb://a:27017,b:27018/x?replicaSet=rs0&retryWrites=true&w=majority",
	} {
		if !credentials.Database(value) {
			t.Errorf("%s: counts as a credential", value)
		}
	}
	const secret = "hunter2"
	for _, value := range []string{
		"", "x", "postgres:hunter2", "hunter2", ":hunter2", "postgres", "http://localhost/hunter2", "libsql://h?authToken=hunter2",
		"prisma://h/?api_key=hunter2", "postgres://u:hunter2@h/x", "postgres://:hunter2@h/x", "postgres://u:hunter2@/x",
		"postgres://u%3Ahunter2@h/x", "postgres://u:hunter2%40h/x", "postgres://h/x?password=hunter2",
		"postgres://h/x?user=u&password=hunter2", "postgres://h/x?PASSWORD=hunter2", "postgres://h/x?sslmode=a&hunter2",
		"postgres://h/x?host=u:hunter2@h", "postgres://h/x?sslmode=a;password=hunter2", "postgres://h/x#hunter2!",
		"postgres://h;Password=hunter2", "sqlserver://h;user=u;password=hunter2", "postgres:hunter2@h", "sqlite:u:hunter2@h",
		"postgres://h:hunter2/x", "postgres://h:54321hunter2/x", "postgres://a,u:hunter2@b/x", "postgres://u@h@hunter2!/x",
		"redis://hunter2@h", "redis://:hunter2@h", "amqp://hunter2@h", "mongodb://hunter2@h", "mongodb+srv://u:hunter2@h",
		"mysql://root:hunter2@tcp(localhost)/x", "root:hunter2@tcp(localhost)/x", "postgres://h/x y=hunter2",
		"postgres://h/x\npassword=hunter2", "postgres://h/$hunter2", "postgres://h/x?options=-c%20x=hunter2",
		"host=h password=hunter2", "Server=h;Password=hunter2", `{"url":"postgres://h","password":"hunter2"}`,
		"postgres://averyverylonghunter2@h/x", "jdbc:postgresql://h/x?password=hunter2", "postgres+u:hunter2://h/x",
		"postgres+hunter2secret://h/x", "sqlite:sk-abcdefghijklmnop1234567890abcd", "sqlite:///sk-abcdefghijklmnop1234567890abcd",
		"postgres:// hunter2/x", "postgres://[::1]:hunter2/x", "postgres://h/ghp_0123456789abcdefghij0123456789abcdef",
		"postgres://h/x?sslmode=" + strings.Repeat("hunter2", 5), "postgres://h/" + strings.Repeat("hunter2", 99), "postgres://hünter2@h/x",
	} {
		if credentials.Database(value) {
			t.Errorf("%q: passes", value)
		}
	}
	// whatever is put into a URL in front of a password, it stays one
	for _, base := range []string{"postgres://u:" + secret + "@h/x", "redis://:" + secret + "@h", "mysql://h/x?password=" + secret} {
		for i := range base {
			for _, c := range "/?#&;@:,=+%[] \\" {
				value := base[:i] + string(c) + base[i:]
				if !credentials.Database(value) {
					continue
				}
				// a password may pass where the change made it a path or the name of a machine
				rest := strings.SplitN(value, secret, 2)[0]
				if strings.HasSuffix(rest, "@") || strings.HasSuffix(rest, ":") && strings.Contains(rest, "//u:") || strings.HasSuffix(rest, "=") {
					t.Errorf("%q: passes", value)
				}
			}
		}
	}
}

func FuzzDatabase(f *testing.F) {
	f.Add("postgres://localhost/x?sslmode=disable")
	f.Fuzz(func(t *testing.T, value string) {
		if !credentials.Database(value) {
			return
		}
		rest := value
		if _, after, ok := strings.Cut(value, "://"); ok {
			rest = after
		}
		if !strings.Contains(value, "://") && !strings.HasPrefix(value, "sqlite") && !strings.HasPrefix(value, "file:") {
			t.Errorf("%q passes", value)
		}
		user, _, at := strings.Cut(rest, "@")
		switch {
		case at && (strings.ContainsAny(user, ":/?=&;") || len(user) > 16), strings.Count(rest, "@") > 1,
			strings.ContainsAny(value, "%;# \t\r\n\"'$\\{}()"),
			strings.Contains(strings.ToLower(value), "password="), strings.Contains(strings.ToLower(value), "token="):
			t.Errorf("%q passes", value)
		}
	})
}
