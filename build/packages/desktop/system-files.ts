import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ROOT } from '../../bootstrap/image-recipes.ts'
import { MANIFEST } from '../manifest.ts'
import { APP_ID } from './builder-config.ts'
import { PROGRAM } from './check-app.ts'

/** Path of the installed app. */
export const APP_FOLDER = '/usr/lib/berth-desktop'
const ICONS = '/usr/share/icons/hicolor'

/** Files of the package outside of its folder. */
export const SYSTEM_FILES = [
  `/usr/bin/${PROGRAM}`,
  `/usr/share/applications/${PROGRAM}.desktop`,
  `${ICONS}/scalable/apps/${PROGRAM}.svg`,
  `${ICONS}/512x512/apps/${PROGRAM}.png`,
  `/usr/share/metainfo/${APP_ID}.metainfo.xml`,
] as const

/** Name of the windows on X11, with which docks find the menu entry. On Wayland it is `desktopName` of the app's package.json. */
export const WM_CLASS = 'berth'

/**
 * Menu entry, which also handles links `berth://…`. @param program that the entry starts @see
 * https://specifications.freedesktop.org/desktop-entry-spec/latest/
 */
export const desktopEntry = (program: string) => `[Desktop Entry]
Type=Application
Name=Berth
GenericName=Console for GPU sessions
GenericName[ko]=GPU 세션 콘솔
Comment=Start and use GPU container sessions
Comment[ko]=GPU 컨테이너 세션을 시작하고 사용합니다
Exec=${program} %u
Icon=${PROGRAM}
Terminal=false
Categories=Development;
Keywords=GPU;container;session;SSH;Jupyter;
MimeType=x-scheme-handler/berth;
StartupNotify=true
StartupWMClass=${WM_CLASS}
`

/**
 * Description of the app for software centres.
 *
 * @see https://www.freedesktop.org/software/appstream/docs/chap-Metadata.html
 */
export const metainfo = ({ license, homepage }: Pick<typeof MANIFEST, 'license' | 'homepage'>) =>
  `<?xml version="1.0" encoding="UTF-8"?>
<component type="desktop-application">
  <id>${APP_ID}</id>
  <metadata_license>CC0-1.0</metadata_license>
  <project_license>${license}</project_license>
  <name>Berth</name>
  <summary>Console for GPU container sessions</summary>
  <summary xml:lang="ko">GPU 컨테이너 세션 콘솔</summary>
  <description>
    <p>Launch containers with GPUs on one or many hosts, open JupyterLab, a terminal and other apps of a session, and reach its files by SSH.</p>
    <p xml:lang="ko">여러 호스트에서 GPU 컨테이너를 실행하고, JupyterLab과 터미널 등 세션의 앱을 열고, SSH로 파일에 접근합니다.</p>
  </description>
  <launchable type="desktop-id">${PROGRAM}.desktop</launchable>
  <developer id="io.berth">
    <name>Berth maintainers</name>
  </developer>
${homepage === undefined ? '' : `  <url type="homepage">${homepage.replaceAll('&', '&amp;')}</url>\n`}  <content_rating type="oars-1.1"/>
</component>
`

/**
 * Ubuntu 24.04 and newer forbid user namespaces for programs without a profile. This profile forbids nothing and allows user namespaces,
 * like the distribution's profiles for browsers. It is stored beside the app; the package's scripts install it if the system's AppArmor
 * supports the rule.
 *
 * @see https://ubuntu.com/blog/ubuntu-23-10-restricted-unprivileged-user-namespaces
 */
const APPARMOR_PROFILE = `abi <abi/4.0>,
include <tunables/global>

profile ${PROGRAM} ${APP_FOLDER}/${PROGRAM} flags=(unconfined) {
  userns,

  include if exists <local/${PROGRAM}>
}
`

/** Arranges the files of the app as on an installed system. */
export function layOutSystem(app: string, root: string): void {
  const folder = join(root, APP_FOLDER)
  cpSync(app, folder, { recursive: true, verbatimSymlinks: true })
  writeFileSync(join(folder, 'apparmor-profile'), APPARMOR_PROFILE)
  const [link, entry, svg, png, about] = SYSTEM_FILES
  for (const file of SYSTEM_FILES) mkdirSync(join(root, dirname(file)), { recursive: true })
  symlinkSync(`../lib/berth-desktop/${PROGRAM}`, join(root, link))
  writeFileSync(join(root, entry), desktopEntry(PROGRAM))
  copyIcons(join(root, svg), join(root, png))
  writeFileSync(join(root, about), metainfo(MANIFEST))
}

/** Copies the app's icon in both forms. */
export function copyIcons(svg: string, png: string): void {
  cpSync(join(ROOT, 'renderer/public/icon.svg'), svg)
  cpSync(join(ROOT, 'build/packages/desktop/icon.png'), png)
}

const PROFILE = `/etc/apparmor.d/${PROGRAM}`

const INSTALL_PROFILE = `if command -v apparmor_parser >/dev/null 2>&1 &&
  apparmor_parser --skip-kernel-load --skip-cache ${APP_FOLDER}/apparmor-profile >/dev/null 2>&1; then
  cp ${APP_FOLDER}/apparmor-profile ${PROFILE}
  if command -v aa-enabled >/dev/null 2>&1 && aa-enabled --quiet 2>/dev/null; then
    apparmor_parser --replace --write-cache ${PROFILE} || echo "AppArmor did not take ${PROFILE}." >&2
  fi
fi`

const REMOVE_PROFILE = `if [ -e ${PROFILE} ]; then
  if command -v aa-enabled >/dev/null 2>&1 && aa-enabled --quiet 2>/dev/null; then
    apparmor_parser --remove ${PROFILE} || true
  fi
  rm -f ${PROFILE}
fi`

const script = (body: string) => `#!/bin/sh\nset -e\n${body}\n`

/** Maintainer scripts of the .deb. Triggers of the system refresh menus and icons. The scripts touch no files of users. */
export const DESKTOP_DEB_SCRIPTS = {
  postinst: script(`[ "$1" = configure ] || exit 0\n${INSTALL_PROFILE}`),
  prerm: script(`[ "$1" = remove ] || exit 0\n${REMOVE_PROFILE}`),
} as const

/** Scriptlets of the .rpm; their first argument is the number of versions that remain. */
export const DESKTOP_RPM_SCRIPTS = {
  post: INSTALL_PROFILE,
  preun: `[ "$1" = 0 ] || exit 0\n${REMOVE_PROFILE}`,
} as const
