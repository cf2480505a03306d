import type en from '../en/sharing.ts'
import { type Translation } from '../message-types.ts'

export default {
  title: '“{name}” 공유',
  email: '{project} 프로젝트 구성원의 이메일 주소',
  emailFault: '이메일 주소를 입력하세요',
  permission: '구성원의 권한',
  permissionOf: '{email} 님의 권한',
  view: '보기',
  use: '사용',
  viewMeans: '보기: 목록, 세부 정보, 타임라인, 차트, 로그를 볼 수 있습니다.',
  useMeans:
    '사용: 앱과 터미널을 열고 SSH와 SFTP로 연결할 수도 있습니다. 구성원은 세션 안에서 소유자로 작업하며, 세션의 파일과 마운트된 폴더를 읽고 바꿀 수 있고, 세션 안의 닷파일과 환경 변수도 읽을 수 있습니다.',
  add: '공유',
  shared: '이제 {email} 님이 세션을 볼 수 있습니다.',
  people: '공유 대상',
  loading: '구성원을 불러오는 중',
  nobody: '아직 없습니다',
  remove: '{email} 님과의 공유 중지',
  removeMeans: '공유를 중지하면 구성원의 연결이 바로 끊어집니다.',
} satisfies Translation<typeof en>
