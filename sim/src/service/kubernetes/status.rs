//! Refusals in the API server's words (kubernetes/apimachinery, `pkg/api/errors/errors.go`,
//! `pkg/util/validation/field`).

use serde_json::{Value, json};

const GROUP: &str = "coordination.k8s.io";

/// A problem with a field.
pub struct Cause {
    reason: &'static str,
    message: String,
    field: &'static str,
}

impl Cause {
    pub(super) fn required(field: &'static str, why: &str) -> Cause {
        Cause { reason: "FieldValueRequired", message: format!("Required value: {why}"), field }
    }

    pub(super) fn forbidden(field: &'static str, why: &str) -> Cause {
        Cause { reason: "FieldValueForbidden", message: format!("Forbidden: {why}"), field }
    }

    pub(super) fn invalid(field: &'static str, value: &str, why: &str) -> Cause {
        Cause { reason: "FieldValueInvalid", message: format!("Invalid value: {value}: {why}"), field }
    }
}

pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    reason: &'static str,
    message: String,
    details: Option<Value>,
}

impl Status {
    fn of(code: u16, reason: &'static str, name: &str, message: String) -> Status {
        let details = json!({ "name": name, "group": GROUP, "kind": "leases" });
        Status { code, reason, message, details: Some(details) }
    }

    pub(super) fn not_found(name: &str) -> Status {
        Status::of(404, "NotFound", name, format!("leases.{GROUP} {name:?} not found"))
    }

    pub(super) fn already_exists(name: &str) -> Status {
        Status::of(409, "AlreadyExists", name, format!("leases.{GROUP} {name:?} already exists"))
    }

    fn conflict(name: &str, why: &str) -> Status {
        Status::of(409, "Conflict", name, format!("Operation cannot be fulfilled on leases.{GROUP} {name:?}: {why}"))
    }

    pub(super) fn modified(name: &str) -> Status {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Status::conflict(name, why)
    }

    pub(super) fn uid_differs((namespace, name): &(String, String), wanted: &str, is: &str) -> Status {
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/leases/{namespace}/{name}, ResourceVersion: 0, \
             AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, UID in object meta: {is}"
        );
        Status::conflict(name, &why)
    }

    pub(super) fn version_needed(name: &str) -> Status {
        let cause = Cause::invalid("metadata.resourceVersion", "0x0", "must be specified for an update");
        Status::invalid(name, "leases", vec![cause])
    }

    pub(super) fn invalid(name: &str, kind: &'static str, causes: Vec<Cause>) -> Status {
        let told: Vec<String> = causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let told = if told.len() == 1 { told.concat() } else { format!("[{}]", told.join(", ")) };
        let mut details = json!({ "group": GROUP, "kind": kind, "causes": causes.iter().map(|cause| {
            json!({ "reason": cause.reason, "message": cause.message, "field": cause.field })
        }).collect::<Vec<_>>() });
        if !name.is_empty() {
            details["name"] = name.into();
        }
        let message = format!("{kind}.{GROUP} {name:?} is invalid: {told}");
        Status { code: 422, reason: "Invalid", message, details: Some(details) }
    }

    /// Fields that belong to other managers, each with its manager as it is shown.
    pub(super) fn conflicts(conflicts: &[(String, String)]) -> Status {
        let mut managers: Vec<&String> = conflicts.iter().map(|(manager, _)| manager).collect();
        managers.dedup();
        let of = |manager: &String| {
            let fields =
                conflicts.iter().filter(|(owner, _)| owner == manager).map(|(_, field)| format!("\n- {field}"));
            format!("conflicts with {manager}:{}", fields.collect::<String>())
        };
        let message = match conflicts {
            [(manager, field)] => format!("Apply failed with 1 conflict: conflict with {manager}: {field}"),
            _ => {
                let told: Vec<String> = managers.into_iter().map(of).collect();
                format!("Apply failed with {} conflicts: {}", conflicts.len(), told.join("\n"))
            }
        };
        let causes = conflicts.iter().map(|(manager, field)| {
            json!({ "reason": "FieldManagerConflict", "message": format!("conflict with {manager}"), "field": field })
        });
        let details = json!({ "causes": causes.collect::<Vec<_>>() });
        Status { code: 409, reason: "Conflict", message, details: Some(details) }
    }

    /// An option of a patch.
    pub(super) fn option(Cause { reason, message, field }: Cause) -> Status {
        let told = format!("PatchOptions.meta.k8s.io \"\" is invalid: {field}: {message}");
        let causes = json!([{ "reason": reason, "message": message, "field": field }]);
        let details = json!({ "group": "meta.k8s.io", "kind": "PatchOptions", "causes": causes });
        Status { code: 422, reason: "Invalid", message: told, details: Some(details) }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Status {
        Status { code: 400, reason: "BadRequest", message: message.into(), details: None }
    }

    pub(super) fn internal(message: &str) -> Status {
        Status { code: 500, reason: "", message: message.to_owned(), details: None }
    }

    pub(super) fn unparsed(text: &str) -> Status {
        Status::internal(&format!("strconv.ParseUint: parsing {text:?}: invalid syntax"))
    }

    pub(super) fn media_type() -> Status {
        let message = "the body of the request was in an unknown format - accepted media types include: application/json, \
                       application/yaml, application/vnd.kubernetes.protobuf";
        Status { code: 415, reason: "UnsupportedMediaType", message: message.to_owned(), details: None }
    }

    pub(super) fn not_allowed() -> Status {
        let message = "the server does not allow this method on the requested resource".to_owned();
        Status { code: 405, reason: "MethodNotAllowed", message, details: Some(json!({})) }
    }

    /// As sent to clients.
    pub(super) fn shown(&self) -> Value {
        let mut shown = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            shown["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            shown["details"] = details.clone();
        }
        shown
    }
}
