import { h, type FunctionalComponent } from 'vue'

/** An icon from one path of @mdi/js. VIcon is too slow where hundreds are drawn while scrolling. */
const SvgIcon: FunctionalComponent<{ path: string; size?: number }> = ({ path, size = 20 }) =>
  h('svg', { width: size, height: size, viewBox: '0 0 24 24', 'aria-hidden': 'true', focusable: 'false' }, [
    h('path', { d: path, fill: 'currentColor' }),
  ])
SvgIcon.props = { path: { type: String, required: true }, size: { type: Number, required: false, default: 20 } }

export default SvgIcon
