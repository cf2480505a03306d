import { type Check, ok, warning } from '../check.ts'

export const localhostNames: Check = {
  name: 'names below localhost',
  run({ localhostNamesResolve }) {
    if (localhostNamesResolve) return ok('These names lead to this computer.')
    return warning(
      'Names like app.localhost are not resolved here. Chrome, Edge and Firefox resolve them by themselves; curl and scripts may not.',
      'Use 127.0.0.1 in scripts, or install libnss-myhostname.',
    )
  },
}
