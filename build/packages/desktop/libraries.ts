import { readFileSync } from 'node:fs'

interface Library {
  /** Alternative Debian packages, the newest first: the change to 64-bit times has introduced new names. */
  readonly deb: string
  readonly rpm: string
  /** Files of this package and of its dependencies that Electron is linked to or loads. */
  readonly files: readonly string[]
}

/**
 * System packages with libraries that the app needs to start, or for one of its features. The list is complete: packages that are only
 * recommended by others may be missing on a small system.
 */
export const LIBRARIES: readonly Library[] = [
  {
    deb: 'libgtk-3-0t64 | libgtk-3-0',
    rpm: 'gtk3',
    files: [
      ...['libgtk-3.so.0', 'libgdk-3.so.0', 'libgdk_pixbuf-2.0.so.0', 'libcairo.so.2', 'libpango-1.0.so.0'],
      ...['libgio-2.0.so.0', 'libglib-2.0.so.0', 'libgobject-2.0.so.0', 'libatk-1.0.so.0', 'libatk-bridge-2.0.so.0'],
      ...['libX11.so.6', 'libxcb.so.1', 'libXext.so.6', 'libXfixes.so.3', 'libXcomposite.so.1', 'libXcursor.so.1'],
      ...['libXdamage.so.1', 'libXrandr.so.2', 'libxkbcommon.so.0', 'libexpat.so.1', 'libdbus-1.so.3'],
    ],
  },
  // Loaded by Chromium when it starts on X11, which ends the program if it is missing. No other package includes it on all systems.
  { deb: 'libx11-xcb1', rpm: 'libX11-xcb', files: ['libX11-xcb.so.1'] },
  { deb: 'libasound2t64 | libasound2', rpm: 'alsa-lib', files: ['libasound.so.2'] },
  { deb: 'libatspi2.0-0t64 | libatspi2.0-0', rpm: 'at-spi2-core', files: ['libatspi.so.0'] },
  // The libraries of Kerberos come with it.
  {
    deb: 'libcups2t64 | libcups2',
    rpm: 'cups-libs',
    files: ['libcups.so.2', 'libgssapi_krb5.so.2'],
  },
  { deb: 'libgbm1', rpm: 'mesa-libgbm', files: ['libgbm.so.1', 'libdrm.so.2'] },
  { deb: 'libnotify4', rpm: 'libnotify', files: ['libnotify.so.4'] },
  {
    deb: 'libnss3',
    rpm: 'nss',
    files: ['libnss3.so', 'libnssutil3.so', 'libsmime3.so', 'libnspr4.so', 'libnssckbi.so'],
  },
  { deb: 'libsecret-1-0', rpm: 'libsecret', files: ['libsecret-1.so.0'] },
  { deb: 'libxss1', rpm: 'libXScrnSaver', files: ['libXss.so.1'] },
  { deb: 'libxtst6', rpm: 'libXtst', files: ['libXtst.so.6'] },
]

/** Names that need no package: parts of Electron, of the C library, of every system, and libraries that are used only if present. */
const NOT_NEEDED: readonly RegExp[] = [
  // Electron's own, beside its program.
  /^lib(ffmpeg|EGL|GLESv2|vk_swiftshader|vulkan|chromescreenai)\.so/,
  /^lib(c|m|dl|pthread|gcc_s|rt|nss_compat|nss_files|udev)\.so\.\d+$/,
  // Drivers and optional services of a desktop: graphics, sound, speech, badges of Unity, older GTK, GNOME and Kerberos.
  /^lib(GL|GLX_nvidia|vulkan_\w+|pci|va|va-drm|va-x11|xcb-\w+)\.so/,
  /^lib(pipewire-0\.3|pulse|speechd|unity|dbusmenu-glib|gtk-4|gnome-keyring|gssapi|notify|wayland-\w+)\.so/,
]

/** Names of libraries that the program is linked to or loads by name, and that no package in `LIBRARIES` brings. */
export function librariesWithoutPackage(program: string): string[] {
  const brought = new Set(LIBRARIES.flatMap(({ files }) => files))
  // Both are texts that end with a zero byte: in the table of names for the linker, and as arguments of dlopen.
  const names = readFileSync(program, 'latin1').matchAll(/(?<![\w./-])(lib[\w.+-]+\.so(?:\.\d+)*)\0/g)
  return [...new Set([...names].map(([, name = '']) => name))]
    .filter(name => !brought.has(name) && !NOT_NEEDED.some(form => form.test(name)))
    .toSorted()
}
