import { type Check, ok, warning } from '../check.ts'

export const localhostNames: Check = {
  name: 'names below localhost',
  run({ localhostNamesResolve }) {
    if (localhostNamesResolve) return ok('They lead to this computer.')
    return warning(
      'Names like app.localhost are not found here. Chrome, Edge and Firefox know them by themselves; curl and scripts may not.',
      'Use 127.0.0.1 in scripts, or install libnss-myhostname.',
    )
  },
}
