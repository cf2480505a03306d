import { UNITS } from './server-tree.ts'

/**
 * Scripts that dpkg and rpm run as root at installation and removal. They never touch the data: removing a package must not remove
 * work, and sessions run on.
 */

const SYSTEMD = '[ -d /run/systemd/system ]'
const services = UNITS.join(' ')

/** Users of the services; otherwise the agent and PostgreSQL would create them at the first start. */
const USERS = `for user in berth berth-session berth-postgres; do
  getent passwd "$user" >/dev/null ||
    useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$user"
done
mkdir -p -m 0700 /etc/berth`

const RESTART = `if ${SYSTEMD}; then
  systemctl daemon-reload
  systemctl try-restart ${services} || echo "A unit did not restart: see systemctl --failed." >&2
fi`

/** Without `--no-warn`, which Debian 12, Ubuntu 22.04 and RHEL 9 do not have: they would stop nothing. */
const STOP = `if ${SYSTEMD}; then systemctl disable --now ${services} || true; fi`

const RELOAD = `if ${SYSTEMD}; then systemctl daemon-reload; fi`

/** Programs in /usr/lib/berth write nothing there; files left by npm or an administrator are removed with the package. */
const KEPT = `for data in /var/lib/berth /var/lib/berth-manager; do
  [ ! -d "$data" ] || echo "Berth's data stays in $data: remove the directory by hand if nobody needs it." >&2
done`

const script = (body: string) => `#!/bin/sh\nset -e\n${body}\n`

/** Maintainer scripts of the .deb. @see Debian Policy, chapter 6 */
export const DEB_SCRIPTS = {
  postinst: script(`[ "$1" = configure ] || exit 0\n${USERS}\n${RESTART}`),
  prerm: script(`[ "$1" = remove ] || exit 0\n${STOP}`),
  postrm: script(
    `${RELOAD}\ncase "$1" in\n  remove|purge) ;;\n  *) exit 0 ;;\nesac\n[ "$1" != purge ] || rm -rf /etc/berth\n${KEPT}`,
  ),
} as const

/** Scriptlets of the .rpm; their first argument is the number of versions that remain. */
export const RPM_SCRIPTS = {
  post: `${USERS}\n${RESTART}`,
  preun: `[ "$1" = 0 ] || exit 0\n${STOP}`,
  postun: `${RELOAD}\n[ "$1" = 0 ] || exit 0\n${KEPT}`,
} as const
