import { APPS_DOCS, appsFaultText } from '#proxy/contract'
import { type Check, ok, warning } from '../check.ts'

/** Whether browsers on other computers can open web apps. */
export const appsAddress: Check = {
  name: 'address of apps',
  run({ apps }) {
    if (apps === undefined) return undefined
    if (apps.address === null) {
      const proposed = apps.proposal === null ? '' : ` Set it to "${apps.proposal}", for example.`
      return ok(`No console.appsAddress: browsers on other computers open no web apps.${proposed} See ${APPS_DOCS}.`)
    }
    if (!apps.fault && /^http:.*:\d+-\d+$/.test(apps.address)) {
      return warning(
        `${apps.address} leads to this Berth, with apps at ports over http: everybody on the network path reads them, and browsers keep what an app left at a port. So a port goes to another person after a day at the earliest.`,
        `Use https, and best a wildcard. See ${APPS_DOCS}.`,
      )
    }
    if (!apps.fault) return ok(`${apps.address} leads to this Berth, as far as this computer can tell.`)
    const { says, mend } = appsFaultText(apps.fault)
    return warning(says, mend)
  },
}
